/* A plugin for qemu that counts the instructions of a process. It prints the sum at the end, and at each call of
 * getpgid(MARK) what has been counted until then: so a script says where one part of its work ends and another begins.
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
extern void qemu_plugin_register_vcpu_syscall_cb(plugin_id id,
                                                 void (*called)(plugin_id, unsigned vcpu, int64_t number, uint64_t,
                                                                uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                                                                uint64_t, uint64_t));
extern void qemu_plugin_register_atexit_cb(plugin_id id, void (*done)(plugin_id, void*), void* data);
extern void qemu_plugin_outs(const char* text);

/* GETPGID is its number on aarch64; no process has the number MARK. */
enum { ADD = 0, GETPGID = 155, MARK = 0x7e57c0de };

int qemu_plugin_version = 1;
static uint64_t count;

static void translated(plugin_id id, struct block* block) {
  (void)id;
  qemu_plugin_register_vcpu_tb_exec_inline(block, ADD, &count, qemu_plugin_tb_n_insns(block));
}

static void show(const char* name) {
  char line[64];
  snprintf(line, sizeof line, "%s: %" PRIu64 "\n", name, count);
  qemu_plugin_outs(line);
}

static void called(plugin_id id, unsigned vcpu, int64_t number, uint64_t first, uint64_t a2, uint64_t a3, uint64_t a4,
                   uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8) {
  (void)id, (void)vcpu, (void)a2, (void)a3, (void)a4, (void)a5, (void)a6, (void)a7, (void)a8;
  if (number == GETPGID && first == MARK) show("mark");
}

static void done(plugin_id id, void* data) {
  (void)id, (void)data;
  show("instructions");
}

int qemu_plugin_install(plugin_id id, const void* info, int argc, char** argv) {
  (void)info, (void)argc, (void)argv;
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  qemu_plugin_register_vcpu_syscall_cb(id, called);
  qemu_plugin_register_atexit_cb(id, done, NULL);
  return 0;
}
