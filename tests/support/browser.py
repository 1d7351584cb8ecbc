"""Chromium, for tests of pages; it is in `exporters.runtimes.browser`."""

from exporters.runtimes.browser import NAMES, Browser, BrowserError, find, started

__all__ = ["NAMES", "Browser", "BrowserError", "find", "started"]
