"""`check --arch arm64`: runs exported files in an emulated phone processor and compares them with this machine."""
