"""Tests of the stores: the contract kits, files, processes and crashes."""
