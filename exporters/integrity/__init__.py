"""Is a folder still what a command wrote, and does the same request write it again?"""
