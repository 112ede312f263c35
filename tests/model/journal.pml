/*
 * The journal as a state machine: inbox -> turn -> outbox, with death, a stop, a /new and a
 * clean shutdown at every step.  One session, MESSAGES updates, one control word, one call
 * that may run at once and one that a person is asked about, in at most DEATHS deaths.
 *
 * What is in the database is a variable of the first part; one action is one transaction, one
 * request to the outside, or one answer of it.  What a process only remembers is in the second
 * part, and is lost with it.  The third part is what really happened outside, which no death
 * undoes; the assertions are about that.
 *
 * States carry the schema's own words behind the name of their table (a test compares them).
 * Of these turns_failed (as given_up, by a refusal of the endpoint), turns_interrupted (turns of
 * a command, which nobody resumes), outbox_reserved and outbox_dropped (live answers) are not
 * walked through here.  BREAK leaves one safeguard out, to show that its assertion can fail:
 *
 *	1  a call that ran is repeated although it is not safe
 *	2  an answer is kept although its turn was stopped
 *	3  updates are confirmed before they are rows
 *	4  an update that comes twice is taken twice
 *	5  a yes is not used up
 *	6  the end of a question wakes nobody
 *	7  what may have arrived is sent again
 */
#ifndef MESSAGES
#define MESSAGES 2
#endif
#ifndef DEATHS
#define DEATHS 2
#endif
#ifndef BREAK
#define BREAK 0
#endif
#define ATTEMPTS_MAX 3
#define RESENDS_MAX 5

mtype = {
	none,
	inbox_ready, inbox_claimed, inbox_done, inbox_dropped,
	turns_ready, turns_running, turns_parked, turns_done, turns_canceled, turns_failed,
	turns_given_up, turns_interrupted,
	tool_calls_planned, tool_calls_running, tool_calls_done, tool_calls_failed,
	tool_calls_denied, tool_calls_in_doubt, tool_calls_canceled,
	approvals_pending, approvals_approved, approvals_denied, approvals_expired,
	approvals_used,
	outbox_reserved, outbox_raw, outbox_ready, outbox_done, outbox_dead, outbox_dropped,
	pieces_ready, pieces_sending, pieces_sent, pieces_unknown, pieces_dead,
}

/* 1. The database. */
mtype inbox[MESSAGES];
mtype turn[MESSAGES]; /* turn i is that of message i */
byte attempts[MESSAGES];
bool cancel_requested[MESSAGES];
byte epoch_of[MESSAGES];
bool stepped[MESSAGES]; /* its answer with calls is journaled */
mtype free_call[MESSAGES], asked_call[MESSAGES];
mtype approval[MESSAGES];
mtype row[MESSAGES], piece[MESSAGES];
bool seen[MESSAGES]; /* inbox_events */
byte cursor, epoch;

/* 2. What the living process knows. */
bool polled; /* it holds the updates that a poll brought */
byte polled_from;
bool at_work[MESSAGES]; /* a worker has the turn */
bool free_runs[MESSAGES], asked_runs[MESSAGES]; /* the tool was started by this process */
bool free_ran[MESSAGES], asked_ran[MESSAGES]; /* and has answered */
bool at_send[MESSAGES]; /* a deliverer has the row */
bool flew[MESSAGES]; /* and its request is out */

/* 3. What really happened. */
byte confirmed; /* the other side has forgotten the updates below */
bool safe; /* may the free call be repeated?  Chosen once */
byte free_effects[MESSAGES], asked_effects[MESSAGES], sends[MESSAGES];
bool yes[MESSAGES]; /* a person said so */
bool stopped[MESSAGES]; /* the control word was there before the answer */
byte deaths;
bool controlled, shut;

#define live(m) (turn[m] == turns_running && !cancel_requested[m] && \
		 epoch_of[m] == epoch)
#define unfinished(m) (turn[m] == turns_ready || turn[m] == turns_running || \
		       turn[m] == turns_parked)
#define open_call(c) (c == tool_calls_planned || c == tool_calls_running)
#define ended_call(c) (c != none && !open_call(c))
#define mine(m) (at_work[m] && turn[m] == turns_running)

inline close_calls(m)
{
	if
	:: free_call[m] == tool_calls_running -> free_call[m] = tool_calls_in_doubt
	:: free_call[m] == tool_calls_planned -> free_call[m] = tool_calls_canceled
	:: else
	fi;
	if
	:: asked_call[m] == tool_calls_running -> asked_call[m] = tool_calls_in_doubt
	:: asked_call[m] == tool_calls_planned -> asked_call[m] = tool_calls_canceled
	:: else
	fi;
	/* No answer to a question of it counts any more. */
	if
	:: approval[m] == approvals_pending || approval[m] == approvals_approved ->
		approval[m] = approvals_expired
	:: else
	fi
}

inline finish(m, how)
{
	turn[m] = how;
	inbox[m] = inbox_done;
	at_work[m] = false;
	free_runs[m] = false;
	asked_runs[m] = false;
	free_ran[m] = false;
	asked_ran[m] = false;
	/* What counted is judged by now; alike ends are to be one state. */
	attempts[m] = 0;
	epoch_of[m] = 0;
	stepped[m] = false;
	yes[m] = false;
	free_effects[m] = 0;
	asked_effects[m] = 0
}

/* Calls that ran when their process died, or was asked to end. */
inline interrupt_calls(m)
{
	if
	:: free_call[m] == tool_calls_running && (safe || BREAK == 1) ->
		free_call[m] = tool_calls_planned
	:: free_call[m] == tool_calls_running && !safe && BREAK != 1 ->
		free_call[m] = tool_calls_in_doubt
	:: else
	fi;
	if
	:: asked_call[m] == tool_calls_running -> asked_call[m] = tool_calls_in_doubt
	:: else
	fi
}

inline forget(m)
{
	at_work[m] = false;
	free_runs[m] = false;
	asked_runs[m] = false;
	free_ran[m] = false;
	asked_ran[m] = false;
	at_send[m] = false;
	flew[m] = false
}

/* The next process, holding the daemon's lock, finds the lock of the dead one free. */
inline recover(m)
{
	if
	:: turn[m] == turns_running ->
		interrupt_calls(m);
		turn[m] = turns_ready;
	:: else
	fi;
	if
	:: piece[m] == pieces_sending ->
		if
		:: sends[m] > RESENDS_MAX -> piece[m] = pieces_unknown; row[m] = outbox_done
		:: else -> piece[m] = pieces_ready
		fi
	:: else
	fi
}

inline die()
{
	byte d;

	polled = false;
	d = 0;
	do
	:: d < MESSAGES -> forget(d); recover(d); d++
	:: else -> break
	od;
	d = 0
}

/* The offset of a poll is the cursor: what lies below it the other side forgets for good. */
inline poll()
{
	polled = true;
	polled_from = (cursor > confirmed -> cursor : confirmed);
	confirmed = polled_from;
	if
	:: BREAK == 3 -> confirmed = MESSAGES
	:: else
	fi
}

/* One transaction: the rows of the batch, and the cursor. */
inline take_batch()
{
	byte b;

	b = polled_from;
	do
	:: b < MESSAGES ->
		if
		:: !seen[b] || BREAK == 4 ->
			assert(inbox[b] == none);
			inbox[b] = inbox_ready;
			seen[b] = true
		:: else
		fi;
		b++
	:: else -> break
	od;
	b = 0;
	cursor = MESSAGES;
	polled = false
}

inline control(new)
{
	byte c;

	controlled = true;
	c = 0;
	do
	:: c < MESSAGES ->
		if
		:: unfinished(c) ->
			cancel_requested[c] = true;
			stopped[c] = true;
			if
			:: turn[c] == turns_parked -> turn[c] = turns_ready
			:: else
			fi
		:: inbox[c] == inbox_ready -> inbox[c] = inbox_dropped
		:: else
		fi;
		c++
	:: else -> break
	od;
	c = 0;
	epoch = epoch + new
}

/* A clean end: turns are given back, and this claim is not counted. */
inline shutdown()
{
	byte s;

	shut = true;
	s = 0;
	do
	:: s < MESSAGES ->
		if
		:: turn[s] == turns_running ->
			interrupt_calls(s);
			turn[s] = turns_ready;
			attempts[s] = (attempts[s] > 0 -> attempts[s] - 1 : 0)
		:: else
		fi;
		s++
	:: else -> break
	od;
	s = 0;
	die()
}

#define done_call(m) (ended_call(free_call[m]) && ended_call(asked_call[m]))
#define fresh(m) (mine(m) && live(m) && attempts[m] <= ATTEMPTS_MAX)
#define ends(m) (mine(m) && !live(m) && !free_runs[m] && !free_ran[m] && !asked_runs[m] && \
		 !asked_ran[m])
#define waits_for(m, a) (mine(m) && live(m) && asked_call[m] == tool_calls_planned && \
			 approval[m] == a)
#define pending(m) (approval[m] == approvals_pending)
#define wanted(m) (unfinished(m) && !cancel_requested[m] && epoch_of[m] == epoch)

inline answer(m)
{
	/* No request holds a call without a result. */
	assert(!open_call(free_call[m]) && !open_call(asked_call[m]));
	assert(!stopped[m]);
	assert(row[m] == none);
	row[m] = outbox_raw;
	finish(m, turns_done)
}

inline unpark(m)
{
	if
	:: turn[m] == turns_parked -> turn[m] = turns_ready
	:: else
	fi
}

inline claim(m)
{
	turn[m] = turns_running;
	attempts[m]++;
	at_work[m] = true
}

/* (a) to (e): which of them is next, the rows say; so a turn that is resumed takes the path of
 * one that is fresh. */
proctype worker(byte m)
{
end:	do
	:: atomic { turn[m] == turns_ready -> claim(m) }
	:: atomic { inbox[m] == inbox_ready && (m == 0 || inbox[m - 1] != none) &&
		    !unfinished(0) && !unfinished(MESSAGES - 1) &&
		    (m == 0 || inbox[m - 1] != inbox_ready) ->
		inbox[m] = inbox_claimed;
		epoch_of[m] = epoch;
		claim(m) }
	/* Three claims without a step. */
	:: atomic { mine(m) && live(m) && attempts[m] > ATTEMPTS_MAX && !free_runs[m] &&
		    !asked_runs[m] && !free_ran[m] && !asked_ran[m] ->
		close_calls(m);
		row[m] = outbox_raw;
		finish(m, turns_given_up) }
	/* It is to end. */
	:: atomic { ends(m) ->
		close_calls(m);
		finish(m, turns_canceled) }
	/* The model answers with two calls, or with words. */
	:: atomic { fresh(m) && !stepped[m] ->
		stepped[m] = true;
		attempts[m] = 0;
		free_call[m] = tool_calls_running;
		free_runs[m] = true;
		asked_call[m] = tool_calls_planned }
	:: atomic { (fresh(m) || (BREAK == 2 && mine(m))) && (!stepped[m] || done_call(m)) ->
		answer(m) }
	/* (c) again, for a call that was interrupted and may be repeated. */
	:: atomic { fresh(m) && free_call[m] == tool_calls_planned ->
		free_call[m] = tool_calls_running;
		free_runs[m] = true }
	/* The tools work, outside. */
	:: atomic { mine(m) && free_runs[m] ->
		free_runs[m] = false;
		free_ran[m] = true;
		free_effects[m]++;
		assert(free_call[m] == tool_calls_running);
		assert(safe || free_effects[m] == 1) }
	:: atomic { mine(m) && asked_runs[m] ->
		asked_runs[m] = false;
		asked_ran[m] = true;
		asked_effects[m]++;
		assert(asked_effects[m] == 1);
		assert(yes[m] && approval[m] == approvals_used) }
	/* (d): also in a turn that is to end. */
	:: atomic { mine(m) && free_ran[m] ->
		free_ran[m] = false;
		free_call[m] = tool_calls_done }
	:: atomic { mine(m) && free_ran[m] ->
		free_ran[m] = false;
		free_call[m] = tool_calls_failed }
	:: atomic { mine(m) && asked_ran[m] ->
		asked_ran[m] = false;
		asked_call[m] = tool_calls_done }
	/* The question, its answer, and the one start it is good for. */
	:: atomic { fresh(m) && waits_for(m, none) -> approval[m] = approvals_pending }
	:: atomic { fresh(m) && waits_for(m, approvals_approved) ->
		approval[m] = (BREAK == 5 -> approvals_approved : approvals_used);
		asked_call[m] = tool_calls_running;
		asked_runs[m] = true }
	:: atomic { fresh(m) && (waits_for(m, approvals_denied) ||
				 waits_for(m, approvals_expired)) ->
		asked_call[m] = tool_calls_denied }
	/* Nothing else is to be done: the worker is freed. */
	:: atomic { fresh(m) && waits_for(m, approvals_pending) && ended_call(free_call[m]) ->
		turn[m] = turns_parked;
			at_work[m] = false;
		attempts[m] = (attempts[m] > 0 -> attempts[m] - 1 : 0) }
	od
}

inline end_piece(m, how)
{
	piece[m] = how;
	row[m] = (how == pieces_dead -> outbox_dead : outbox_done);
	at_send[m] = false;
	flew[m] = false;
	assert(sends[m] > 0)
}

proctype deliverer(byte m)
{
end:	do
	:: atomic { row[m] == outbox_raw && (m == 0 || row[m - 1] == none ||
		    row[m - 1] == outbox_done || row[m - 1] == outbox_dead) ->
		row[m] = outbox_ready;
		piece[m] = pieces_ready }
	:: atomic { row[m] == outbox_ready && piece[m] == pieces_ready && !at_send[m] ->
		piece[m] = pieces_sending;
			at_send[m] = true }
	:: atomic { at_send[m] && !flew[m] ->
		flew[m] = true;
		sends[m]++;
		assert(piece[m] == pieces_sending);
		/* One more only for an end of the process in between. */
		assert(sends[m] <= 1 + deaths + shut) }
	/* It provably never left. */
	:: atomic { at_send[m] && !flew[m] ->
		piece[m] = pieces_ready;
		at_send[m] = false }
	/* It was lost on the way: nobody knows.  BREAK: and so it is sent again. */
	:: atomic { at_send[m] && flew[m] -> end_piece(m, pieces_unknown);
		if
		:: BREAK == 7 -> piece[m] = pieces_ready; row[m] = outbox_ready
		:: else
		fi }
	:: atomic { at_send[m] && flew[m] -> end_piece(m, pieces_sent) }
	:: atomic { at_send[m] && flew[m] -> end_piece(m, pieces_dead) }
	od
}

proctype channel()
{
	bool again;

end:	do
	:: atomic { !polled && (cursor < MESSAGES || confirmed < MESSAGES) -> poll() }
	:: atomic { polled -> take_batch() }
	/* An update that was forgotten comes once more. */
	:: atomic { !again && !polled && confirmed == MESSAGES ->
		again = true;
		polled = true;
		polled_from = 0 }
	od
}

/* Whoever answers questions, and the clock that ends them. */
proctype person(byte m)
{
end:	do
	:: atomic { pending(m) && wanted(m) ->
		approval[m] = approvals_approved;
		yes[m] = true;
		unpark(m) }
	:: atomic { pending(m) && wanted(m) -> approval[m] = approvals_denied; unpark(m) }
	:: atomic { pending(m) -> approval[m] = approvals_expired;
		if
		:: BREAK != 6 -> unpark(m)
		:: else
		fi }
	od
}

/* Each of these may happen, at any step, or never. */
proctype stop_or_new()
{
	if
	:: atomic { true -> control(0) }
	:: atomic { true -> control(1) }
	:: true
	fi
}

proctype death()
{
	do
	:: atomic { deaths < DEATHS -> deaths++; die() }
	:: break
	od
}

proctype clean_end()
{
	if
	:: atomic { true -> shutdown() }
	:: true
	fi
}

/* Nothing can happen any more: then everything has come to its end. */
inline judge(j)
{
	assert(inbox[j] == inbox_done || inbox[j] == inbox_dropped);
	assert(inbox[j] != inbox_dropped || controlled);
	assert(!unfinished(j));
	assert(!open_call(free_call[j]) && !open_call(asked_call[j]));
	assert(!pending(j) && approval[j] != approvals_approved);
	/* Who was not stopped has an answer, or was told that there is none. */
	assert(inbox[j] == inbox_dropped || turn[j] == turns_canceled ||
	       row[j] == outbox_done || row[j] == outbox_dead);
	assert(turn[j] != turns_canceled || (stopped[j] && row[j] == none));
	assert(turn[j] != turns_given_up || deaths >= ATTEMPTS_MAX)
}

init {
	byte i;

	atomic {
		for (i : 0 .. MESSAGES - 1) {
			inbox[i] = none;
			turn[i] = none;
			free_call[i] = none;
			asked_call[i] = none;
			approval[i] = none;
			row[i] = none;
			piece[i] = none;
		}
		if
		:: safe = true
		:: safe = false
		fi;
		for (i : 0 .. MESSAGES - 1) {
			run worker(i);
			run deliverer(i);
			run person(i)
		}
		run channel();
		run stop_or_new();
		run death();
		run clean_end();
		i = 0
	}
	atomic { timeout ->
		for (i : 0 .. MESSAGES - 1) {
			judge(i)
		}
	}
}
