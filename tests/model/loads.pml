/*
 * Which tickets are drawn beside the loading of parameter sets, with
 * partitions without end. docs/two-locks.md has the rules and the words;
 * internal/sched is the code. twolocks.pml has blocks, fences and streams.
 *
 * VRAM is ROOM units. Two parameter sets take two units each, so one of them
 * is there at a time. A must partition takes one unit beside its set and cannot
 * stream. A big partition takes all units, a small one takes one; neither has a
 * set. Each partition comes back to the queue as soon as it has ended, for
 * ever. WORKERS workers take them from the queue in order; a partition that
 * had to wait goes to the front. Tickets claim in order.
 *
 * What is checked, under weak fairness, is that each kind of partition claims
 * again and again: nobody is kept out for ever. MUTANT breaks one rule; run.sh
 * knows who starves then.
 */

#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef SMALLS
#define SMALLS 2
#endif
#ifndef BIGS
#define BIGS 1
#endif
#ifndef PATIENCE
#define PATIENCE 1
#endif
#ifndef MUTANT
#define MUTANT 0
#endif

#define ENDLESS_PATIENCE 1 /* tickets are drawn however long a load has no place */
#define NOT_PROTECTED    2 /* tickets are drawn that call a load off, or evict a set that is waited for */
#define NOT_OWED         3 /* the next load begins before those have claimed that waited for the last one */
#define NEXT_AT_ONCE     4 /* the next load begins before those have a ticket that the last one held back */

#define PLACED_AGAIN     5 /* a load that was called off takes its place again before the ticket has claimed */
#define STAYS_HELD       6 /* the next load waits for a partition that waits for the next load */

#define ROOM 3
#define SETROOM 2
#define NOSET 2
#define PROCS 8

#define KIND_BIG 0
#define KIND_SMALL 1
#define KIND_MUST 2

chan queue = [PROCS] of { byte };   /* partitions that wait for a worker */
chan again = [PROCS] of { byte };   /* those that had to wait aside go first */
chan tickets = [PROCS] of { byte }; /* drawn and not claimed, in order */
chan line = [4] of { byte };        /* sets that have to be loaded, the first is worked on */
byte freeWorkers = WORKERS;
byte held;                          /* units that partitions hold */
byte inVram = NOSET;                /* the set that has its place */
bool loading;                       /* and is not loaded yet */
bool calledOff;
bool yields;                        /* until the ticket that called the load off has claimed */
byte pins;                          /* tickets that use the set in VRAM */
byte waits[2];                      /* partitions that wait for a set, or have and not claimed yet */
bool inLine[2];
byte first = NOSET;                 /* the set whose load holds tickets back */
byte heldBack;                      /* partitions that it holds back */
byte bypassed;                      /* claims while it had no place, up to PATIENCE */

bool mustA, mustB, big, small;      /* true for one step at each claim */

#define away(x) (inVram != x || loading)
#define units(kind) (kind == KIND_BIG -> ROOM : 1)
/* A ticket of this kind may be drawn. The set x of a must partition is loaded. */
#define gate(kind, x) (first == NOSET || first == x || waits[first] == 0 \
	|| (inVram == first && (units(kind) + SETROOM <= ROOM || MUTANT == NOT_PROTECTED)) \
	|| (inVram != first && (bypassed < PATIENCE || MUTANT == ENDLESS_PATIENCE)))
#define setUnits (inVram == NOSET -> 0 : SETROOM)

inline notHeld() {
	if
	:: isHeld && MUTANT != STAYS_HELD -> isHeld = false; heldBack--
	:: else
	fi
}

inline want(x) {
	if
	:: !waiting -> waiting = true; waits[x]++
	:: else
	fi;
	if
	:: !inLine[x] -> inLine[x] = true; line!x
	:: else
	fi;
	notHeld()
}

inline served(x) {
	if
	:: waiting ->
		waiting = false; waits[x]--;
		if
		:: waits[x] == 0 && first == x && !away(x) -> first = NOSET; inLine[x] = false
		:: else
		fi
	:: else
	fi
}

/* The first ticket claims. */
inline claim(kind, x) {
	tickets?_;
	held = held + units(kind);
	yields = yields && !mine;
	mine = false;
	if
	:: kind == KIND_MUST -> pins++; served(x)
	:: else
	fi;
	if
	:: first != NOSET && inVram != first && waits[first] > 0 && bypassed < PATIENCE -> bypassed++
	:: else
	fi;
	mustA = (kind == KIND_MUST && x == 0); mustB = (kind == KIND_MUST && x == 1);
	big = (kind == KIND_BIG); small = (kind == KIND_SMALL)
}

proctype Partition(byte kind, x) {
	bool waiting, isHeld;
	bool mine; /* it has called the load off */
next:
	queue!_pid;
	do
	:: /* A worker takes it. */
		if
		:: atomic { freeWorkers > 0 && again?[eval(_pid)] -> again?_; freeWorkers-- }
		:: atomic { freeWorkers > 0 && len(again) == 0 && queue?[eval(_pid)] -> queue?_; freeWorkers-- }
		fi;
		/* It draws a ticket, or waits aside without a worker. */
		if
		:: atomic { kind == KIND_MUST && away(x) -> want(x); freeWorkers++ };
			atomic { !away(x) -> again!_pid }
		:: atomic { (kind != KIND_MUST || !away(x)) && !gate(kind, x) ->
			freeWorkers++;
			if
			:: !isHeld -> isHeld = true; heldBack++
			:: else
			fi };
			atomic { gate(kind, x) || (kind == KIND_MUST && away(x)) -> again!_pid }
		:: atomic { (kind != KIND_MUST || !away(x)) && gate(kind, x) ->
			tickets!_pid;
			notHeld() };
			/* Claim turn. */
			do
			:: atomic { tickets?[eval(_pid)] && kind == KIND_MUST && away(x) -> /* evicted since */
				tickets?_; freeWorkers++; want(x); break };
			:: atomic { tickets?[eval(_pid)] && (kind != KIND_MUST || !away(x)) && units(kind) + held + setUnits <= ROOM ->
				claim(kind, x); goto claimed }
			:: atomic { tickets?[eval(_pid)] && kind == KIND_BIG && held == 0 && inVram != NOSET && !loading && pins == 0 ->
				inVram = NOSET; claim(kind, x); goto claimed }
			:: atomic { tickets?[eval(_pid)] && kind == KIND_BIG && held == 0 && loading && !calledOff -> calledOff = true; yields = true; mine = true }
			od;
			atomic { !away(x) -> again!_pid }
		fi
	od;
claimed:
	atomic {
		mustA = false; mustB = false; big = false; small = false;
		held = held - units(kind);
		pins = pins - (kind == KIND_MUST -> 1 : 0);
		freeWorkers++
	};
	goto next
}

#define room (held + SETROOM <= ROOM && (inVram == NOSET || pins == 0))

active proctype Loads() {
	byte x;
	do
	:: atomic { line?x -> first = x; bypassed = 0 };
	place:
		atomic { room && (!yields || MUTANT == PLACED_AGAIN) -> inVram = x; loading = true };
		if
		:: atomic { calledOff -> loading = false; inVram = NOSET; calledOff = false; goto place }
		:: atomic { !calledOff ->
			loading = false;
			if
			:: MUTANT == NOT_OWED -> first = NOSET; inLine[x] = false
			:: else
			fi }
		fi;
		/* Nobody is held back any more when all have claimed that waited;
		 * those who were draw first. */
		if
		:: atomic { first == NOSET && (heldBack == 0 || MUTANT == NEXT_AT_ONCE) -> skip }
		:: atomic { first == x && inVram != x -> goto place }
		fi
	od
}

init {
	byte i;
	atomic {
		run Partition(KIND_MUST, 0);
		run Partition(KIND_MUST, 1);
		do
		:: i < BIGS -> run Partition(KIND_BIG, NOSET); i++
		:: else -> break
		od;
		i = 0;
		do
		:: i < SMALLS -> run Partition(KIND_SMALL, NOSET); i++
		:: else -> break
		od;
		i = 0
	}
}

ltl a { []<> mustA }
ltl b { []<> mustB }
ltl bigs { []<> big }
ltl smalls { []<> small }
