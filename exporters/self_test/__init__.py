"""examples.json: inputs with the answers of the written files, so that an app can check itself on the device."""
