"""Scripts and commands that send a recorded request again."""
