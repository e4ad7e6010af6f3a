"""The pickaxe on an index in PostgreSQL, as the process that was started for a pattern."""

from clew.history.questions.pickaxe import main
from clew.history.store.engines import offer
from clew.team.history.engine import PostgresEngine

if __name__ == "__main__":
    offer(PostgresEngine())
    main()
