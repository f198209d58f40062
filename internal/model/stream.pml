/*
 * How a stream releases records: transactions, the state topic, the gate, and members that come, go,
 * freeze and are killed. make test-model has Spin go through every order in which this can happen.
 *
 * Assumed of Kafka, as KIP-98 and KIP-447 have it: a transaction is one of all or nothing, its markers
 * reach each topic on their own; who is fenced, by the broker's timeout or as his group has gone on
 * without him, cannot commit; offsets that a transaction holds are not given out before it ends.
 *
 * Each step is named as in the program: connectors/kafka (stream_positions.go, tail.go, stream_end.go)
 * and internal/pipeline/stream (ledgers.go, commit.go). With -D of a name under "Wrong", a step is left
 * out, and Spin must find what goes wrong.
 *
 * Wrong: STATE_BEFORE_OFFSET, STATE_WITHOUT_TAIL, OFFSET_UNSTABLE, JUDGES_AFTER_COMMIT, JUDGES_OPEN_ALONE,
 *        NO_FENCE, STATE_APART
 */
#define N 3        /* records of the partition */
#define MEMBERS 2
#define TROUBLES 3 /* kills, freezes that outlast the group's patience, lost answers: all together */
#define LIMIT 1    /* records of the bad kind that may be released in all */

#define NONE 0
#define OPEN 1      /* records are written; nothing says how it ends */
#define SENT 2      /* and the offset is in it */
#define COMMITTED 3 /* decided, while markers are on their way to the three topics */

byte bad;              /* which records are bad, a bit each */
byte released, held;   /* the topics, as a read_committed reader sees them, a bit for each record */
byte offset;           /* of the group */
byte state;            /* the state topic: the records that are assessed as released */
byte owner = MEMBERS, generation;
byte troubles;

typedef Transaction {
  byte phase;
  bool toOut, toOffset, toState; /* where its marker is still missing */
  bool holds;                    /* its records go to the restricted topic */
  byte records, next, state;
  bool fenced;                   /* the broker has given its id to nobody else, and takes nothing of it */
}
Transaction tx[MEMBERS];

inline clear(t) {
  t.phase = NONE; t.toOut = false; t.toOffset = false; t.toState = false; t.holds = false;
  t.records = 0; t.next = 0; t.state = 0
}

#define inFlight(m) ((tx[m].phase == COMMITTED && tx[m].toOut && !tx[m].holds) -> tx[m].records : 0)
#define count(set) (((set) & 1) + ((set) >> 1 & 1) + ((set) >> 2 & 1))
#define pending(t, topic) (t.phase == OPEN || t.phase == SENT || (t.phase == COMMITTED && t.topic))

/* The broker: markers in any order, and the timeout of a transaction whose owner is gone, or too slow. */
active [MEMBERS] proctype Broker() {
  byte m = _pid;
end: do
  :: atomic { tx[m].phase == COMMITTED && tx[m].toOut ->
       assert(((released | held) & tx[m].records) == 0); /* nothing comes out twice */
       if
       :: tx[m].holds -> held = held | tx[m].records
       :: else -> released = released | tx[m].records
       fi;
       tx[m].toOut = false
     }
  :: atomic { tx[m].phase == COMMITTED && tx[m].toOffset -> offset = tx[m].next; tx[m].toOffset = false }
  :: atomic { tx[m].phase == COMMITTED && tx[m].toState -> state = tx[m].state; tx[m].toState = false }
  :: atomic { tx[m].phase == COMMITTED && !tx[m].toOut && !tx[m].toOffset && !tx[m].toState -> clear(tx[m]) }
  :: atomic { (tx[m].phase == OPEN || tx[m].phase == SENT) && owner != m -> clear(tx[m]); tx[m].fenced = true }
  :: atomic { (tx[m].phase == OPEN || tx[m].phase == SENT) && owner == m && troubles < TROUBLES ->
       troubles++; clear(tx[m]); tx[m].fenced = true
     }
  od
}

/* The group: it goes on with another member, be the one before gone or only slow. */
active proctype Group() {
  atomic { select (bad : 0 .. (1 << N) - 1); owner = 0 }
end: do
  :: atomic { owner < MEMBERS && troubles < TROUBLES -> troubles++; generation++; owner = (owner + 1) % MEMBERS }
  od
}

active [MEMBERS] proctype Member() {
  byte me = _pid - MEMBERS - 1, mine, at, kept, take, open;
  bool holding, stop, passes;

endjoin: /* here a member without a partition waits */
  atomic {
    owner == me && tx[me].phase != COMMITTED ->
    mine = generation; holding = false;
    clear(tx[me]); tx[me].fenced = false /* InitProducerId ends what is open under the id */
  }
#ifdef STATE_BEFORE_OFFSET
  kept = state;
#endif
  atomic { /* the offset; a pending one is waited for */
#ifdef OFFSET_UNSTABLE
    true ->
#else
    (tx[0].phase != SENT && !(tx[0].phase == COMMITTED && tx[0].toOffset) &&
     tx[1].phase != SENT && !(tx[1].phase == COMMITTED && tx[1].toOffset)) ->
#endif
    at = offset
  }
#ifndef STATE_BEFORE_OFFSET
  atomic { /* the state topic up to its end, and not only to its last stable offset */
#ifdef STATE_WITHOUT_TAIL
    true ->
#else
    !pending(tx[0], toState) && !pending(tx[1], toState) ->
#endif
    kept = state
  }
#endif

  do
  :: at == N -> break
  :: at < N && mine != generation -> goto endjoin
  :: at < N && mine == generation ->
     /* begin: one record or two, masked */
     atomic {
       if
       :: take = 1
       :: at + 2 <= N -> take = 2
       fi;
       if
       :: take == 1 -> open = 1 << at
       :: else -> open = 3 << at
       fi;
       if
       :: tx[me].fenced || tx[me].phase != NONE -> goto endjoin
       :: else -> tx[me].phase = OPEN; tx[me].records = open; tx[me].next = at + take; tx[me].holds = holding
       fi
     }
     /* judge: what is released and the open transaction */
     atomic {
#ifdef JUDGES_OPEN_ALONE
       passes = count(open & bad) <= LIMIT;
#else
       passes = count((kept | open) & bad) <= LIMIT;
#endif
#ifdef JUDGES_AFTER_COMMIT
       passes = true;
#endif
       if
       :: !passes && !holding -> /* refuse: abort, and the records are read again */
          if
          :: !tx[me].fenced -> clear(tx[me])
          :: else
          fi;
          if
          :: holding = true
          :: stop = true
          fi
       :: else
       fi
     };
     if
     :: stop -> goto stopped
     :: !stop && !passes && tx[me].phase == NONE -> goto next
     :: else
     fi;
     /* the state, and the offset with the group's generation */
     atomic {
       if
       :: tx[me].fenced || tx[me].phase != OPEN -> goto endjoin
#ifndef NO_FENCE
       :: !tx[me].fenced && tx[me].phase == OPEN && mine != generation -> clear(tx[me]); goto endjoin
#endif
       :: else ->
          if
          :: holding -> tx[me].state = kept
          :: else -> tx[me].state = kept | open
          fi;
#ifdef STATE_APART
          state = tx[me].state;
#endif
          tx[me].phase = SENT
       fi
     }
     /* EndTxn */
     atomic {
       if
       :: tx[me].fenced || tx[me].phase != SENT -> goto endjoin
       :: else ->
          /* The verdict has seen what readers see, and what is on its way to them. */
          assert(holding || kept == (released | inFlight(0) | inFlight(1)));
          tx[me].phase = COMMITTED; tx[me].toOut = true; tx[me].toOffset = true; tx[me].toState = true
       fi;
       if
       :: troubles < TROUBLES -> troubles++; goto endjoin /* the answer is lost: what was is read from the topics */
       :: true
       fi
     }
     tx[me].phase == NONE || mine != generation ->
     if
     :: mine != generation -> goto endjoin
     :: else -> skip
     fi;
     at = at + take;
     if
     :: holding && passes -> holding = false; goto taken
     :: holding && !passes -> goto taken
     :: else -> kept = kept | open
     fi;
taken:
next:
     if
     :: troubles < TROUBLES -> troubles++; goto endjoin /* killed, and started again */
     :: true
     fi
  od;

stopped:
  skip
}

/* What holds whenever he looks. */
active proctype Observer() {
end: if
  :: atomic { count(released & bad) > LIMIT -> assert(false) } /* the gate is passed over */
  :: atomic { (released & held) != 0 -> assert(false) }
  :: atomic { tx[0].phase == NONE && tx[1].phase == NONE && (released | held) != (1 << offset) - 1 -> assert(false) } /* lost, or early */
  :: atomic { tx[0].phase == NONE && tx[1].phase == NONE && state != released -> assert(false) } /* the report is another's */
  fi
}
