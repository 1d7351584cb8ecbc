package android.content;

import android.content.res.AssetManager;
import java.io.File;

/** Stand-in: the assets are in the folder that the system property "assets" names. */
public class Context {
  private final AssetManager assets = new AssetManager(new File(System.getProperty("assets")));

  public AssetManager getAssets() {
    return assets;
  }
}
