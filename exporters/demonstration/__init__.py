"""A page that runs exported models in the browser: served on this machine alone, or written as a static site."""
