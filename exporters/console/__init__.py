"""How a program behaves: its output folder, signals, progress, and the silence of native libraries."""
