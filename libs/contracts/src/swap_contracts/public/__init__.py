"""What partners see: the public models, the error catalogue, and the one renderer.

The only package with doubles, because the public interface says so.
"""
