"""Every file compared with what it must equal, and the gates."""
