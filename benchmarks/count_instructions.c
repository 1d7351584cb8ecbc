/* A plugin for qemu that counts the instructions of a whole process and prints the sum at its end.
 *
 * qemu's header for plugins is in no package of Debian's, so what is used of version 1 of the interface is declared
 * here. Counting is exact for a process with one thread that computes. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

typedef uint64_t plugin_id;
struct block;

extern void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, void (*seen)(plugin_id, struct block*));
extern size_t qemu_plugin_tb_n_insns(const struct block* block);
extern void qemu_plugin_register_vcpu_tb_exec_inline(struct block* block, int operation, void* counter,
                                                     uint64_t amount);
extern void qemu_plugin_register_atexit_cb(plugin_id id, void (*done)(plugin_id, void*), void* data);
extern void qemu_plugin_outs(const char* text);

enum { ADD = 0 };

int qemu_plugin_version = 1;
static uint64_t count;

static void translated(plugin_id id, struct block* block) {
  (void)id;
  qemu_plugin_register_vcpu_tb_exec_inline(block, ADD, &count, qemu_plugin_tb_n_insns(block));
}

static void done(plugin_id id, void* data) {
  (void)id, (void)data;
  char line[64];
  snprintf(line, sizeof line, "instructions: %" PRIu64 "\n", count);
  qemu_plugin_outs(line);
}

int qemu_plugin_install(plugin_id id, const void* info, int argc, char** argv) {
  (void)info, (void)argc, (void)argv;
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  qemu_plugin_register_atexit_cb(id, done, NULL);
  return 0;
}
