/*
 * Two locks, three turns, fences and the loading of a parameter set on one
 * device. docs/two-locks.md has the argument and the words; internal/sched and
 * internal/vram are the code. loads.pml has what this model cannot have: jobs
 * without end, two sets, and that no load and no job is kept out for ever.
 *
 * WORKERS workers take partitions in any order (which covers every priority
 * and every way of ageing) and carry each through claim, upload, compute and
 * finish. VRAM is BLOCKS blocks. A big partition claims three (a and b are
 * copied, c is computed) and streams its points in PIECES tiles; a small one
 * claims one; a set partition claims one and pins the parameter set, which
 * lies in the last block, or streams it in one tile if it is away; a must
 * partition likewise, but it cannot stream: it stays in the queue until the set
 * is loaded, and goes back there if the set is evicted before its claim. The
 * set is away at first with AWAY. Up to CANCELS partitions are cancelled or
 * fail, or loads fail, during any wait and between any two steps. With LOSS
 * the device is lost once, at any time, and made anew when its tickets and its
 * load have left. With TRIM idle memory is given back at any time.
 *
 * The load is a process of its own. It begins when a must partition waits for
 * the set, or, KEPT times, for set partitions that stream. It fills the set in
 * LOADPIECES copies on a stream of its own, through a pinned buffer of its own.
 *
 * The device runs two streams of copies and one of kernels, each in order. A
 * fence has passed as soon as the ticket has handed the block on and none of
 * its own work there is left; real events come later by what else is on the
 * stream, so every real order is among those tried. When a piece of work runs
 * it is checked that every earlier ticket that had the block has handed it on
 * and has no work left there, and that the block has memory.
 *
 * All waits are guards and nothing polls, so every run is finite: that there
 * is no invalid end state means that every partition ends. MUTANT breaks one
 * rule; run.sh knows in which way each has to fail.
 */

#ifndef WORKERS
#define WORKERS 3
#endif
#ifndef BIG
#define BIG 2
#endif
#ifndef SMALL
#define SMALL 1
#endif
#ifndef SETJOBS
#define SETJOBS 1
#endif
#ifndef BLOCKS
#define BLOCKS 4
#endif
#ifndef TILESLOTS
#define TILESLOTS 1
#endif
#ifndef PIECES
#define PIECES 2
#endif
#ifndef CANCELS
#define CANCELS 1
#endif
#ifndef LOSS
#define LOSS 0
#endif
#ifndef TRIM
#define TRIM 0
#endif
#ifndef MUST
#define MUST 0 /* partitions that need the set and cannot stream */
#endif
#ifndef KEPT
#define KEPT 0 /* loads that nobody waits for */
#endif
#ifndef AWAY
#define AWAY 0 /* 1: the set is not in VRAM at first */
#endif
#ifndef LOADPIECES
#define LOADPIECES 2
#endif
#ifndef PATIENCE
#define PATIENCE 1 /* claims past a load without a place before no ticket is drawn */
#endif
#define LOADS (MUST + KEPT > 0)
#ifndef MUTANT
#define MUTANT 0
#endif

#define THIRD_BLOCK_LATE   1 /* c is claimed in the compute turn */
#define FENCE_READ_LATE    2 /* the fence is looked up when the copy starts */
#define NO_FENCE           3 /* copies do not wait for a fence */
#define WAIT_UNDER_LOCK    4 /* the claim keeps the memory lock while it waits */
#define TILES_ON_UPLOAD    5 /* tiles share the upload stream and its ring */
#define TURN_NOT_ADVANCED  6 /* a cancelled job leaves its turns as they are */
#define FREES_PREDECESSOR  7 /* a cancelled job forgets the fences it was claimed with */
#define SKIPS_PREDECESSOR  8 /* a successor takes its predecessor's own fence only */
#define ONE_STREAM_FENCE   9 /* a fence covers the compute stream only */
#define EVICTS_UNFENCED   10 /* eviction forgets the fences of the set's users */
#define EVICTS_PINNED     11 /* eviction looks at no pins */
#define TRIMS_UNFENCED    12 /* memory is given back before the fences have passed */
#define TURNS_OUT_OF_ORDER 13 /* jobs compute in the order in which they are ready */
#define LOAD_IN_UPLOAD_TURN 14 /* a load has the upload turn while it waits for its place */
#define LOAD_FREES_UNFENCED 15 /* a load that fails gives its place back without its fence */
#define CLAIMS_HALF_LOADED 16 /* a ticket pins a set that is being loaded */
#define LOAD_ON_UPLOAD_RING 17 /* a load fills the tickets' pinned buffer before it has a place */
#define RESET_IGNORES_LOAD 18 /* the device is made anew while a load is under way */
#define LOAD_UNFENCED 19 /* a load does not wait for the fences of its place */

#define JOBS (BIG + SMALL + SETJOBS + MUST)
/* Every big partition may evict the set once under every must partition. */
#define RETRIES (MUST * BIG)
#define TICKETS (JOBS + RETRIES)
#define LOADER TICKETS /* the load, where tickets are counted */
#define SETBLOCK (BLOCKS - 1)
#define NONE 255
#define NOTILE 0 /* tiles count from 1 where a kernel names one */
#define PIECE_CAP 12

#define bitOf(n) (1 << (n))
#define at(t, x) ((t) * BLOCKS + (x))

/* The queue: how many of each kind wait. Kinds are named by their blocks. */
#define KIND_BIG 0
#define KIND_SMALL 1
#define KIND_SET 2
#define KIND_MUST 3
byte waitingBig = BIG, waitingSmall = SMALL, waitingSet = SETJOBS, waitingMust = MUST;
byte nextTicket, ended;
byte unclaimed; /* must partitions with a ticket that may yet go back to the queue */
byte cancelsLeft = CANCELS;
bool lost, lossSpent;
byte keptLeft = KEPT;

/* The memory lock. A critical section without waits is one atomic step that
 * needs the lock to be free; only a mutant keeps it. The compute lock's
 * sections are single atomic steps likewise. */
bool memLock;

/* The turns: the ticket that is due, and who has passed ahead of time. */
byte claimDue, uploadDue, computeDue;
byte claimPassed, uploadPassed, computePassed;

/* The ledger. */
byte holder[BLOCKS] = NONE;        /* who claimed the block last and has not handed it on */
byte fenced[BLOCKS];        /* of a free block: tickets whose fences go with it */
byte yielding;              /* tickets that have reached their compute turn */
byte holds;                 /* blocks claimed and not handed on */
byte poisoned;              /* blocks */
byte mapped = (SETJOBS + MUST > 0 && !AWAY -> bitOf(SETBLOCK) : 0); /* blocks that have memory */
bool resident = (SETJOBS + MUST > 0 && !AWAY); /* the set is in SETBLOCK */
bool loading; /* it is on its way there */
bool loadLeaves; /* a load that failed has given its place back, and waits for its last copy */
bool kept; /* the load goes on when nobody waits for it */
bool calledOff; /* it is to give its place back */
byte yieldsTo = NONE; /* the ticket that has called it off and not claimed yet */
bool loadTurn; /* a mutant's load has the upload turn */
byte owed; /* must partitions that waited for the load and have not claimed yet */
byte bypassed; /* claims past a load that waits for its place, up to PATIENCE */
byte loadAfter; /* tickets that had SETBLOCK before the load */
byte pins;
byte setUsers;              /* tickets that have used the set there */

/* Fences: that of ticket t on block x has the index at(t, x). */
byte before[(TICKETS + 1) * BLOCKS]; /* tickets whose fences t was claimed with */
byte had[TICKETS + 1];             /* blocks that the ticket has claimed or pinned */
byte recorded[TICKETS + 1];        /* blocks whose fence is recorded */
byte asSet;                 /* tickets that use SETBLOCK as the set */

/* The device, and how many pieces of a ticket's work on a block are left. */
chan uploads = [PIECE_CAP] of { byte, byte };       /* ticket, block or NONE for a tile */
byte kernelsLeft;                                   /* the stream of kernels, the next one first */
byte kernelTicket[PIECE_CAP], kernelBlocks[PIECE_CAP], kernelTile[PIECE_CAP];
chan tiles   = [PIECE_CAP] of { byte };             /* tile */
byte loadCopies;                                    /* enqueued on the load stream */
byte copies[(TICKETS + 1) * BLOCKS], runs[(TICKETS + 1) * BLOCKS];

bool ringFilled;            /* the one pinned buffer for uploads: filled, not yet enqueued */
bool ringBusy;              /* enqueued, its copy not done */
bool loadRingBusy;          /* the load's own pinned buffer */
byte tileState[TILESLOTS];  /* FREE, and so on; DESERTED: being copied for a job that has gone */
#define FREE 0
#define COPYING 1
#define READY 2
#define DESERTED 3

#define fencePassed(u, x) ((recorded[u] & bitOf(x)) && runs[at(u, x)] == 0 \
	&& (copies[at(u, x)] == 0 || MUTANT == ONE_STREAM_FENCE))

/* Whether the fences of the tickets in the set f on block x have passed. */
#define passed1(f, x, u) (!((f) & bitOf(u)) || fencePassed(u, x))
#if LOADS
#define loadPassed(f, x) passed1(f, x, LOADER)
#else
#define loadPassed(f, x) true
#endif
#if TICKETS == 3
#define allPassed(f, x) (loadPassed(f, x) && passed1(f, x, 0) && passed1(f, x, 1) && passed1(f, x, 2))
#elif TICKETS == 4
#define allPassed(f, x) (loadPassed(f, x) && passed1(f, x, 0) && passed1(f, x, 1) && passed1(f, x, 2) && passed1(f, x, 3))
#elif TICKETS == 5
#define allPassed(f, x) (loadPassed(f, x) && passed1(f, x, 0) && passed1(f, x, 1) && passed1(f, x, 2) && passed1(f, x, 3) && passed1(f, x, 4))
#elif TICKETS == 6
#define allPassed(f, x) (loadPassed(f, x) && passed1(f, x, 0) && passed1(f, x, 1) && passed1(f, x, 2) && passed1(f, x, 3) && passed1(f, x, 4) && passed1(f, x, 5))
#endif

#define claimable(x) (!(poisoned & bitOf(x)) && !((x) == SETBLOCK && (resident || loading)) \
	&& (holder[x] == NONE || (yielding & bitOf(holder[x]))))
#define one(x) (claimable(x) -> 1 : 0)
#if BLOCKS == 3
#define claimables (one(0) + one(1) + one(2))
#elif BLOCKS == 4
#define claimables (one(0) + one(1) + one(2) + one(3))
#elif BLOCKS == 5
#define claimables (one(0) + one(1) + one(2) + one(3) + one(4))
#endif

#define mayEvict (resident && (MUTANT == EVICTS_PINNED || (pins == 0 && holds == 0)))
#define canClaim(want) (claimables >= want || (mayEvict && claimables + 1 >= want && kind != KIND_MUST))

/* The gate before a ticket is drawn. While partitions wait for a load, or have
 * waited for it and not claimed yet, no ticket is drawn that could not be
 * granted beside it; and none at all if it has been without a place for
 * PATIENCE claims. Partitions of the set itself pass. */
#define protected ((loading && waitingMust > 0) || (resident && owed > 0))
#define patient (resident || loading || waitingMust == 0 || bypassed < PATIENCE)
#define admitted(want) (patient && (!protected || want < BLOCKS))

/* A wait ends also with a cancel or the loss of the device. */
#define interrupted (lost || cancelsLeft > 0)
inline interrupt() {
	if
	:: lost
	:: cancelsLeft > 0 -> cancelsLeft--
	fi;
	goto out
}

inline pass(due, passed, t) {
	passed = passed | bitOf(t);
	do
	:: passed & bitOf(due) -> passed = passed & ~bitOf(due); due++
	:: else -> break
	od
}

inline take(t, x) {
	if
	:: holder[x] == NONE -> before[at(t, x)] = fenced[x]
	:: else ->
		before[at(t, x)] = bitOf(holder[x]) | (MUTANT == SKIPS_PREDECESSOR -> 0 : before[at(holder[x], x)])
	fi;
	holder[x] = t;
	fenced[x] = 0;
	had[t] = had[t] | bitOf(x);
	mapped = mapped | bitOf(x);
	held = held | bitOf(x);
	holds++
}

/* Nobody uses the set any more: its block is free behind its users' fences. */
inline evict() {
	resident = false;
	fenced[SETBLOCK] = (MUTANT == EVICTS_UNFENCED -> 0 : setUsers);
	setUsers = 0
}

/* Blocks that nobody has used since the start are alike: only the lowest of
 * them is tried. */
#define fresh(x) ((x) != SETBLOCK && holder[x] == NONE && fenced[x] == 0 && !(mapped & bitOf(x)))
#define canTake(x) (claimable(x) && !(fresh(x) && (x) > 0 && fresh((x) - 1)))

/* t takes any blocks that it can, in any roles: whatever a ledger prefers. */
inline claim(t, want) {
	if
	:: claimables + n < want -> evict()
	:: else
	fi;
	do
	:: n < want ->
		if
		:: canTake(0) -> k = 0
		:: canTake(1) -> k = 1
		:: canTake(2) -> k = 2
#if BLOCKS > 3
		:: canTake(3) -> k = 3
#endif
#if BLOCKS > 4
		:: canTake(4) -> k = 4
#endif
		fi;
		take(t, k);
		if
		:: n == 0 -> a = k
		:: n == 1 -> b = k
		:: else -> c = k
		fi;
		n++
	:: else -> break
	od;
	k = 0;
	/* Never over budget: what is claimed lies in distinct blocks. */
	assert(n == want);
	if
	:: (kind == KIND_SET && (resident || (MUTANT == CLAIMS_HALF_LOADED && loading))) || kind == KIND_MUST ->
		pins++;
		asSet = asSet | bitOf(t);
		had[t] = had[t] | bitOf(SETBLOCK);
		pinned = true
	:: else
	fi;
#if LOADS
	if
	:: kind == KIND_MUST -> unclaimed--; served()
	:: else
	fi;
	if
	:: yieldsTo == t -> yieldsTo = NONE
	:: else
	fi;
	if
	:: !resident && !loading && waitingMust > 0 && bypassed < PATIENCE -> bypassed++
	:: else
	fi
#endif
}

/* The fence of block x covers all streams on which t has work there. Of a
 * lost device nothing can be recorded. */
inline record(t, x) {
	recorded[t] = recorded[t] | bitOf(x);
	if
	:: lost && (copies[at(t, x)] > 0 || runs[at(t, x)] > 0) -> poisoned = poisoned | bitOf(x)
	:: else
	fi
}

inline handOn(t, x) {
	record(t, x);
	held = held & ~bitOf(x);
	holds--;
	if
	:: holder[x] == t ->
		holder[x] = NONE;
		fenced[x] = bitOf(t) | (MUTANT == FREES_PREDECESSOR -> 0 : before[at(t, x)])
	:: else
	fi
}

/* Whatever t still holds, in one step; the only way out. */
inline handOnRest(t) {
	k = 0;
	do
	:: k < BLOCKS ->
		if
		:: held & bitOf(k) -> handOn(t, k)
		:: else
		fi;
		k++
	:: else -> break
	od;
	k = 0;
	if
	:: pinned -> record(t, SETBLOCK); setUsers = setUsers | bitOf(t); pins--; pinned = false
	:: else
	fi
}

/* The compute turn comes after those of all earlier tickets, so that whatever
 * t was claimed behind has been handed on. */
#define handedOn1(t, x, u) (!(before[at(t, x)] & bitOf(u)) || (recorded[u] & bitOf(x)))
#if TICKETS == 3
#define handedOn(t, x) (handedOn1(t, x, 0) && handedOn1(t, x, 1) && handedOn1(t, x, 2))
#elif TICKETS == 4
#define handedOn(t, x) (handedOn1(t, x, 0) && handedOn1(t, x, 1) && handedOn1(t, x, 2) && handedOn1(t, x, 3))
#elif TICKETS == 5
#define handedOn(t, x) (handedOn1(t, x, 0) && handedOn1(t, x, 1) && handedOn1(t, x, 2) && handedOn1(t, x, 3) && handedOn1(t, x, 4))
#elif TICKETS == 6
#define handedOn(t, x) (handedOn1(t, x, 0) && handedOn1(t, x, 1) && handedOn1(t, x, 2) && handedOn1(t, x, 3) && handedOn1(t, x, 4) && handedOn1(t, x, 5))
#endif

/* One kernel on x, and on y unless that is NONE. */
inline launch(t, x, y, tile) {
	assert(lost || handedOn(t, x));
	runs[at(t, x)]++;
	if
	:: y != NONE ->
		assert(lost || handedOn(t, y));
		runs[at(t, y)]++
	:: else
	fi;
	kernelTicket[kernelsLeft] = t;
	kernelBlocks[kernelsLeft] = bitOf(x) | (y != NONE -> bitOf(y) : 0);
	kernelTile[kernelsLeft] = tile;
	kernelsLeft++
}

/* One piece into block x: fill a pinned buffer, wait for the fence, copy. */
#define late(x) (MUTANT == FENCE_READ_LATE -> (holder[x] == NONE || fencePassed(holder[x], x)) \
	: (MUTANT == NO_FENCE || allPassed(before[at(me, x)], x)))
inline stage(x, lastOne) {
	if
	:: atomic { uploadDue == me && !ringFilled && !ringBusy && !loadTurn -> ringFilled = true; filled = true }
	:: atomic { interrupted -> interrupt() }
	fi;
	if
	:: atomic { late(x) && !lost ->
		uploads!me, x;
		copies[at(me, x)]++;
		ringBusy = true;
		ringFilled = false;
		filled = false;
		if
		:: lastOne -> pass(uploadDue, uploadPassed, me)
		:: else
		fi }
	:: atomic { interrupted -> interrupt() }
	fi
}

#define idleOn(x) (copies[at(me, x)] == 0 && runs[at(me, x)] == 0)
#if BLOCKS == 3
#define workDone (idleOn(0) && idleOn(1) && idleOn(2))
#elif BLOCKS == 4
#define workDone (idleOn(0) && idleOn(1) && idleOn(2) && idleOn(3))
#elif BLOCKS == 5
#define workDone (idleOn(0) && idleOn(1) && idleOn(2) && idleOn(3) && idleOn(4))
#endif

#define mayBig (waitingBig > 0 && admitted(3))
#define maySmall (waitingSmall > 0 && admitted(1))
#define maySet (waitingSet > 0 && admitted(1))
#define mayMust (waitingMust > 0 && resident)
#define allTaken (waitingBig + waitingSmall + waitingSet + waitingMust + unclaimed == 0)

/* A must partition that has waited for the load no longer does. */
inline served() {
	if
	:: owes -> owes = false; owed--
	:: else
	fi
}

active [WORKERS] proctype Worker() {
	byte me, kind, want, a, b, c, n, k, p;
	byte held;
	bool pinned, filled;
	bool owes; /* it has waited for the load, which does not end before its claim */
	bool fed; /* a tile that has no kernel yet */
next:
	/* Take a job, whichever, and draw a ticket. */
	atomic {
		/* Workers are alike, so the first tickets may as well go to the
		 * first worker, the second, and so on. */
		(!lost && (nextTicket >= WORKERS || nextTicket == _pid) && (mayBig || maySmall || maySet || mayMust)) || allTaken;
		if
		:: mayBig -> waitingBig--; kind = KIND_BIG
		:: maySmall -> waitingSmall--; kind = KIND_SMALL
		:: maySet -> waitingSet--; kind = KIND_SET
		:: mayMust ->
			waitingMust--; kind = KIND_MUST; unclaimed++;
			if
			:: owed > 0 -> owes = true
			:: else
			fi
		:: allTaken -> goto leave
		fi;
		want = (kind == KIND_BIG -> 3 : 1);
		me = nextTicket;
		nextTicket++
	}

	/* Claim turn: all blocks and the set, in one step. Here and below a step
	 * and the end of its turn are one, since nobody sees a state between; and
	 * so are two waits in a row. */
#if MUTANT == WAIT_UNDER_LOCK
	if
	:: atomic { claimDue == me && !memLock -> memLock = true }
	:: atomic { interrupted -> interrupt() }
	fi;
	if
	:: atomic { canClaim(want) && !lost -> claim(me, want); memLock = false; pass(claimDue, claimPassed, me) }
	:: atomic { interrupted -> memLock = false; interrupt() }
	fi;
#else
#if MUTANT == THIRD_BLOCK_LATE
	want = (want == 3 -> 2 : want);
#endif
waitsForMemory:
	if
	:: atomic { claimDue == me && !memLock && canClaim(want) && !lost && (kind != KIND_MUST || resident) ->
		claim(me, want); pass(claimDue, claimPassed, me) }
#if LOADS
	/* A load is in the way of the earliest ticket, and all others have ended. */
	:: atomic { claimDue == me && !memLock && loading && !calledOff && holds == 0 && !canClaim(want) && !lost ->
		calledOff = true; yieldsTo = me; goto waitsForMemory }
	/* The set has been evicted since the ticket was drawn. */
	:: atomic { claimDue == me && !memLock && kind == KIND_MUST && !resident && !lost ->
		served(); unclaimed--; waitingMust++; kind = KIND_SMALL; goto out }
#endif
	:: atomic { interrupted -> interrupt() }
	fi;
#endif

	/* Upload turn. */
	stage(a, kind != KIND_BIG);
	if
	:: kind == KIND_BIG -> stage(b, true)
	:: else
	fi;

	/* Compute turn. From here the next ticket may claim behind this one. */
	if
	:: atomic { (computeDue == me || MUTANT == TURNS_OUT_OF_ORDER) && !memLock ->
		yielding = yielding | (MUTANT == THIRD_BLOCK_LATE -> 0 : bitOf(me)) }
	:: atomic { interrupted -> interrupt() }
	fi;
	if
	:: kind == KIND_BIG ->
#if MUTANT == THIRD_BLOCK_LATE
		if
		:: atomic { !memLock && claimables >= 1 && !lost -> want = 3; claim(me, want) }
		:: atomic { interrupted -> interrupt() }
		fi;
#endif
		if
		:: atomic { !lost -> launch(me, a, b, NOTILE) } /* product */
		:: atomic { interrupted -> interrupt() }
		fi;
		if
		:: atomic { !memLock && !lost -> handOn(me, b) }
		:: atomic { interrupted -> interrupt() }
		fi;
		if
		:: atomic { !lost -> launch(me, a, c, NOTILE) } /* subtraction */
		:: atomic { interrupted -> interrupt() }
		fi;
		atomic { !memLock -> handOn(me, c) };
		p = PIECES
	:: kind == KIND_SMALL ->
		if
		:: atomic { !lost -> launch(me, a, NONE, NOTILE) }
		:: atomic { interrupted -> interrupt() }
		fi;
		p = 0
	:: kind >= KIND_SET ->
		if
		:: pinned ->
			if
			:: atomic { !lost -> launch(me, a, SETBLOCK, NOTILE) }
			:: atomic { interrupted -> interrupt() }
			fi;
			p = 0
		:: else -> p = 1
		fi
	fi;
	do
	:: p > 0 ->
		/* A tile is overwritten when the last kernel on it is done. */
		if
		:: atomic { tileState[p % TILESLOTS] == FREE && !lost &&
			(MUTANT != TILES_ON_UPLOAD || (!ringFilled && !ringBusy)) ->
			tileState[p % TILESLOTS] = COPYING;
			fed = true;
			if
			:: MUTANT == TILES_ON_UPLOAD -> ringBusy = true; uploads!(p % TILESLOTS), NONE
			:: else -> tiles!(p % TILESLOTS)
			fi }
		:: atomic { interrupted -> interrupt() }
		fi;
		if
		:: atomic { !lost -> launch(me, a, NONE, p % TILESLOTS + 1); fed = false; p-- }
		:: atomic { interrupted -> interrupt() }
		fi
	:: p == 0 -> break
	od;
	atomic { !memLock -> handOnRest(me); pass(computeDue, computePassed, me) };

	/* Finish: wait for the result; a cancel ends this wait too. */
	if
	:: workDone
	:: atomic { interrupted -> interrupt() }
	fi;

out:	/* The one way out, for every ticket, however far it has come. */
	atomic { !memLock ->
#if LOADS
		if
		:: kind == KIND_MUST && had[me] == 0 -> unclaimed--; served()
		:: else
		fi;
		if
		:: yieldsTo == me -> yieldsTo = NONE
		:: else
		fi;
#endif
		if
		:: filled -> ringFilled = false; filled = false
		:: else
		fi;
		/* A tile that no kernel will use goes back with its copy's fence. */
		if
		:: fed ->
			tileState[p % TILESLOTS] = (tileState[p % TILESLOTS] == COPYING -> DESERTED : FREE);
			fed = false
		:: else
		fi;
		if
		:: held != 0 || pinned -> handOnRest(me)
		:: else
		fi
	};
#if MUTANT == TURN_NOT_ADVANCED
	if
	:: claimDue > me && uploadDue > me && computeDue > me
	:: else -> goto drained
	fi;
#endif
	atomic {
		if
		:: claimDue <= me -> pass(claimDue, claimPassed, me)
		:: else
		fi;
		if
		:: uploadDue <= me -> pass(uploadDue, uploadPassed, me)
		:: else
		fi;
		if
		:: computeDue <= me -> pass(computeDue, computePassed, me)
		:: else
		fi
	};
drained:
	/* Nothing that it enqueued may be running when it leaves. Then its fences
	 * have passed, and it is forgotten. */
	atomic { workDone || lost ->
		ended++;
		k = 0;
		do
		:: k < (TICKETS + 1) * BLOCKS -> before[k] = before[k] & ~bitOf(me); k++
		:: else -> break
		od;
		k = 0;
		do
		:: k < BLOCKS -> fenced[k] = fenced[k] & ~bitOf(me); before[at(me, k)] = 0; k++
		:: else -> break
		od;
		setUsers = setUsers & ~bitOf(me);
		asSet = asSet & ~bitOf(me);
		loadAfter = loadAfter & ~bitOf(me);
		yielding = yielding & ~bitOf(me);
		had[me] = 0; recorded[me] = 0;
		want = 0; a = 0; b = 0; c = 0; n = 0; me = 0; kind = 0; p = 0; k = 0
	};
	goto next;
leave:
	skip
}

/* A piece of t's work on x runs: nobody who had x before is still there. */
inline check(t, x) {
	assert(mapped & bitOf(x));
	i = 0;
	do
	:: i < t ->
		if
		:: t == LOADER && !(loadAfter & bitOf(i)) -> skip
		:: (t != LOADER || (loadAfter & bitOf(i))) && (had[i] & bitOf(x)) && !(x == SETBLOCK && (asSet & bitOf(i)) && (asSet & bitOf(t))) ->
			assert((recorded[i] & bitOf(x)) && copies[at(i, x)] == 0 && runs[at(i, x)] == 0)
		:: else
		fi;
		i++
	:: else -> break
	od;
#if LOADS
	/* A load had it before, unless t is among those that were there before the load. */
	i = LOADER;
	if
	:: t != LOADER && x == SETBLOCK && (had[i] & bitOf(x)) && !(loadAfter & bitOf(t)) ->
		assert((recorded[i] & bitOf(x)) && copies[at(i, x)] == 0 && runs[at(i, x)] == 0)
	:: else
	fi;
#endif
	i = 0
}

active proctype UploadStream() {
	byte t, x, i;
end:	do
	:: atomic { !lost && len(uploads) > 0 -> uploads?t, x;
		if
		:: x != NONE -> check(t, x); copies[at(t, x)]--
		:: else -> tileState[t] = (tileState[t] == DESERTED -> FREE : READY)
		fi;
		ringBusy = false; t = 0; x = 0 }
	od
}

active proctype TileStream() {
	byte i;
end:	do
	:: atomic { !lost && len(tiles) > 0 -> tiles?i; tileState[i] = (tileState[i] == DESERTED -> FREE : READY); i = 0 }
	od
}

/* A kernel waits for its tile, for the job's own copies, and for those of the
 * tickets that its blocks were claimed behind. */
#define copied1(t, x, u) (!(before[at(t, x)] & bitOf(u)) || copies[at(u, x)] == 0)
#if LOADS
#define loadCopied(t, x) copied1(t, x, LOADER)
#else
#define loadCopied(t, x) true
#endif
#if TICKETS == 3
#define copied(t, x) (copies[at(t, x)] == 0 && loadCopied(t, x) && copied1(t, x, 0) && copied1(t, x, 1) && copied1(t, x, 2))
#elif TICKETS == 4
#define copied(t, x) (copies[at(t, x)] == 0 && loadCopied(t, x) && copied1(t, x, 0) && copied1(t, x, 1) && copied1(t, x, 2) && copied1(t, x, 3))
#elif TICKETS == 5
#define copied(t, x) (copies[at(t, x)] == 0 && loadCopied(t, x) && copied1(t, x, 0) && copied1(t, x, 1) && copied1(t, x, 2) && copied1(t, x, 3) && copied1(t, x, 4))
#elif TICKETS == 6
#define copied(t, x) (copies[at(t, x)] == 0 && loadCopied(t, x) && copied1(t, x, 0) && copied1(t, x, 1) && copied1(t, x, 2) && copied1(t, x, 3) && copied1(t, x, 4) && copied1(t, x, 5))
#endif
#define ready(t, m, x) (!(m & bitOf(x)) || copied(t, x))
#if BLOCKS == 3
#define allReady(t, m) (ready(t, m, 0) && ready(t, m, 1) && ready(t, m, 2))
#elif BLOCKS == 4
#define allReady(t, m) (ready(t, m, 0) && ready(t, m, 1) && ready(t, m, 2) && ready(t, m, 3))
#elif BLOCKS == 5
#define allReady(t, m) (ready(t, m, 0) && ready(t, m, 1) && ready(t, m, 2) && ready(t, m, 3) && ready(t, m, 4))
#endif

active proctype ComputeStream() {
	byte x, i;
end:	do
	:: atomic { !lost && kernelsLeft > 0 && allReady(kernelTicket[0], kernelBlocks[0]) &&
		(kernelTile[0] == 0 || tileState[kernelTile[0] - 1] == READY) ->
		do
		:: x < BLOCKS ->
			if
			:: kernelBlocks[0] & bitOf(x) -> check(kernelTicket[0], x); runs[at(kernelTicket[0], x)]--
			:: else
			fi;
			x++
		:: else -> break
		od;
		if
		:: kernelTile[0] > 0 -> tileState[kernelTile[0] - 1] = FREE
		:: else
		fi;
		kernelsLeft--;
		x = 0;
		do
		:: x <= kernelsLeft ->
			kernelTicket[x] = (x < kernelsLeft -> kernelTicket[x + 1] : 0);
			kernelBlocks[x] = (x < kernelsLeft -> kernelBlocks[x + 1] : 0);
			kernelTile[x] = (x < kernelsLeft -> kernelTile[x + 1] : 0);
			x++
		:: else -> break
		od;
		x = 0 }
	od
}

#if LOSS
/* The device reports an error after which nothing on it is known; it is made
 * anew when all its jobs have left. */
active proctype Loss() {
	byte k;
end:	do
	:: atomic { !lossSpent -> lossSpent = true; lost = true }
	:: atomic { lost && ended == nextTicket && ((!loading && !loadLeaves) || MUTANT == RESET_IGNORES_LOAD) ->
		assert(holds == 0 && pins == 0 && !ringFilled);
		do
		:: len(uploads) > 0 -> uploads?_, _
		:: kernelsLeft > 0 ->
			kernelsLeft--;
			kernelTicket[kernelsLeft] = 0; kernelBlocks[kernelsLeft] = 0; kernelTile[kernelsLeft] = 0
		:: len(tiles) > 0 -> tiles?_
		:: else -> break
		od;
		do
		:: k < BLOCKS -> holder[k] = NONE; fenced[k] = 0; k++
		:: else -> break
		od;
		k = 0;
		do
		:: k < TILESLOTS -> tileState[k] = FREE; k++
		:: else -> break
		od;
		k = 0;
		do
		:: k < (TICKETS + 1) * BLOCKS -> copies[k] = 0; runs[k] = 0; before[k] = 0; k++
		:: else -> break
		od;
		k = 0;
		ringBusy = false; poisoned = 0; mapped = 0; resident = false; setUsers = 0;
		loadCopies = 0; loadRingBusy = false; owed = 0;
		lost = false }
	od
}
#endif

#if TRIM
/* Memory under a block that nobody has and whose fences have passed goes
 * back to the driver. */
#define idle(x) (!lost && (mapped & bitOf(x)) && holder[x] == NONE && !(poisoned & bitOf(x)) \
	&& !((x) == SETBLOCK && (resident || loading)) && (MUTANT == TRIMS_UNFENCED || allPassed(fenced[x], x)))
active proctype Trim() {
end:	do
	:: atomic { !memLock && idle(0) -> mapped = mapped & ~bitOf(0) }
	:: atomic { !memLock && idle(SETBLOCK) -> mapped = mapped & ~bitOf(SETBLOCK) }
	od
}
#endif

#if LOADS
active proctype LoadStream() {
	byte i;
end:	do
	:: atomic { !lost && loadCopies > 0 ->
		check(LOADER, SETBLOCK);
		loadCopies--; copies[at(LOADER, SETBLOCK)]--; loadRingBusy = false }
	od
}

/* Must partitions that wait for the set leave the queue: one is cancelled. */
active proctype Leave() {
end:	do
	:: atomic { waitingMust > 0 && cancelsLeft > 0 ->
		cancelsLeft--; waitingMust--;
		if
		:: owed > 0 -> owed--
		:: else
		fi }
	od
}

#define roomToLoad (!lost && !resident && yieldsTo == NONE && holder[SETBLOCK] == NONE && !(poisoned & bitOf(SETBLOCK)))
/* A load that nobody wants any more, or whose room a ticket needs, ends; and so
 * does one of a lost device. */
#define unwanted (lost || calledOff || (waitingMust == 0 && !kept))

/* The load holds no ticket, no turn and no lock, and waits for recorded fences
 * only. */
active proctype Load() {
	byte p, k;
end:	do
	:: true ->
#if MUTANT == LOAD_IN_UPLOAD_TURN
		atomic { !resident && waitingMust > 0 && !ringFilled && !ringBusy -> loadTurn = true };
#endif
#if MUTANT == LOAD_ON_UPLOAD_RING
		atomic { !resident && waitingMust > 0 && !ringFilled && !ringBusy -> ringFilled = true };
#endif
endPlace:	atomic { !memLock && roomToLoad && (waitingMust > 0 || keptLeft > 0) ->
			kept = (waitingMust == 0);
			if
			:: kept -> keptLeft--
			:: else
			fi;
			loading = true;
			mapped = mapped | bitOf(SETBLOCK);
			before[at(LOADER, SETBLOCK)] = fenced[SETBLOCK];
			fenced[SETBLOCK] = 0;
			do
			:: p < TICKETS ->
				if
				:: had[p] & bitOf(SETBLOCK) -> loadAfter = loadAfter | bitOf(p)
				:: else
				fi;
				p++
			:: else -> break
			od;
			had[LOADER] = bitOf(SETBLOCK);
			p = LOADPIECES };
		do
		:: p > 0 ->
			if
			:: atomic { (allPassed(before[at(LOADER, SETBLOCK)], SETBLOCK) || MUTANT == LOAD_UNFENCED) && !loadRingBusy && !unwanted ->
				copies[at(LOADER, SETBLOCK)]++; loadCopies++; loadRingBusy = true; p-- }
			:: atomic { unwanted -> goto fails }
			:: atomic { cancelsLeft > 0 -> cancelsLeft--; waitingMust = 0; goto fails }
			fi
		:: p == 0 -> break
		od;
		if
		:: atomic { !memLock && copies[at(LOADER, SETBLOCK)] == 0 && !unwanted ->
			loading = false; resident = true; had[LOADER] = 0; before[at(LOADER, SETBLOCK)] = 0; loadAfter = 0; setUsers = 0;
			owed = waitingMust; bypassed = 0; kept = false;
			ringFilled = (MUTANT == LOAD_ON_UPLOAD_RING -> false : ringFilled); loadTurn = false }
		:: atomic { unwanted -> goto fails }
		:: atomic { cancelsLeft > 0 -> cancelsLeft--; waitingMust = 0; goto fails }
		fi;
		goto next;
fails:		/* Its place goes back behind its fence, to whoever claims it. */
		atomic { !memLock ->
			p = 0; loading = false; loadLeaves = true; kept = false; calledOff = false;
			record(LOADER, SETBLOCK);
			fenced[SETBLOCK] = (MUTANT == LOAD_FREES_UNFENCED -> 0 : bitOf(LOADER)) | before[at(LOADER, SETBLOCK)];
			ringFilled = (MUTANT == LOAD_ON_UPLOAD_RING -> false : ringFilled); loadTurn = false };
		/* Nothing that it enqueued may be running when it leaves. */
		atomic { copies[at(LOADER, SETBLOCK)] == 0 || lost ->
			do
			:: k < (TICKETS + 1) * BLOCKS -> before[k] = before[k] & ~bitOf(LOADER); k++
			:: else -> break
			od;
			k = 0;
			do
			:: k < BLOCKS -> fenced[k] = fenced[k] & ~bitOf(LOADER); k++
			:: else -> break
			od;
			k = 0;
			before[at(LOADER, SETBLOCK)] = 0; had[LOADER] = 0; recorded[LOADER] = 0; loadAfter = 0; loadLeaves = false };
next:		skip
	od
}
#endif
