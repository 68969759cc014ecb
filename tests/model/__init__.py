"""An independent model of the contract: it predicts, and never imports, the library."""
