"""What the scenes stand on: processes, terminals, wire checkers, fixtures."""
