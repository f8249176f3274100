# Completion for fish: the program itself knows its commands.
holdfast completion fish | source
