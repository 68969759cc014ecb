"""What users test their agents with is tested itself."""
