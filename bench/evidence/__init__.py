"""Evidence by a fair rule: default models of this library against tuned rivals; see PROTOCOL.md."""
