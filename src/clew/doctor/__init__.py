"""What works on this machine and in this project, and the command that repairs what does not."""
