"""Code and assets for an app: what `export-mobile android` writes into the folder of an Android module."""
