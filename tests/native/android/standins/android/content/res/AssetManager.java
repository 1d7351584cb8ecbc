package android.content.res;

import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;

/** Stand-in: the assets are a folder on disk. */
public final class AssetManager {
  private final File root;

  public AssetManager(File root) {
    this.root = root;
  }

  /** As on Android: what does not exist is empty. */
  public String[] list(String path) {
    String[] names = new File(root, path).list();
    return names == null ? new String[0] : names;
  }

  public InputStream open(String path) throws IOException {
    return new FileInputStream(new File(root, path));
  }

  public AssetFileDescriptor openFd(String path) throws IOException {
    return new AssetFileDescriptor(new File(root, path));
  }
}
