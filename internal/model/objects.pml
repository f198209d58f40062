/*
 * How a folder of objects becomes a release, where names are given one by one and nothing can be locked:
 * internal/publish/objectdir.go and held.go. An ordinary run writes parts of its own; the commit of a plan
 * in shards names parts that the shards have uploaded, may be killed and run again, or run twice at once.
 *
 * Wrong: TAKES_OLD_PARTS, REMOVES_FOREIGN, REMOVES_WITHOUT_LISTING, NO_CONDITION, MANIFEST_FIRST
 */
#define RUNS 4      /* 0 and 1: ordinary runs; 2 and 3: commits of the same plan */
#define PARTS 4     /* 0 and 1: of those runs; 2: of the plan; 3: of the release before */
#define EARLIER 3
#define KILLS 2
#define mine (id < 2 -> id : 2)

bool named[PARTS], old[PARTS]; /* old: a release came after the part had got its name, so its run may remove it */
bool uploaded = true;          /* the shards' parts wait, without names */
byte success = EARLIER;        /* whose parts the manifest names */
byte version;                  /* of the manifest, its ETag */
byte kills;
bool begun;

active [RUNS] proctype Run() {
  byte id = _pid, before, found, i;
  bool listed[PARTS];

  if
  :: atomic { id == 0 -> named[EARLIER] = true; begun = true }
  :: atomic { id != 0 && begun }
  fi;
  before = version;
  if
  :: goto gone /* killed, or withheld */
  :: true
  fi;
  atomic { /* 1: what is there is listed */
    i = 0;
    do
    :: i < PARTS -> listed[i] = named[i] && i != mine; i++
    :: else -> break
    od; i = 0
  }
#ifdef MANIFEST_FIRST
  success = mine; version++;
#endif
  if /* 2: the parts get their names */
  :: atomic { id < 2 -> named[mine] = true; old[mine] = false }
  :: atomic { id >= 2 && uploaded -> uploaded = false; named[mine] = true; old[mine] = false }
  :: atomic { id >= 2 && !uploaded && named[mine] } /* an earlier commit has named them */
#ifndef TAKES_OLD_PARTS
     ; if
     :: old[mine] && success != mine -> goto gone
     :: else
     fi
#endif
  :: atomic { id >= 2 && !uploaded && !named[mine] -> goto gone }
  fi;
  if
  :: atomic { kills < KILLS -> kills++; goto gone }
  :: true
  fi;
  if /* 3: the manifest takes the place of the one that was there when the run began */
#ifdef NO_CONDITION
  :: atomic { true ->
#else
  :: atomic { version == before ->
#endif
       success = mine; version++;
       i = 0;
       do
       :: i < PARTS -> old[i] = old[i] || named[i] && i != mine; i++
       :: else -> break
       od; i = 0
     }
#ifndef NO_CONDITION
  :: atomic { version != before && success == mine -> goto gone } /* the other commit has done it */
  :: atomic { version != before && success != mine -> found = 1 };
     /* taken back: an ordinary run's own parts */
     if
#ifdef REMOVES_FOREIGN
     :: named[mine] = false
#else
     :: id < 2 -> named[mine] = false
     :: id >= 2
#endif
     fi;
     goto gone
#endif
  fi;
#ifdef REMOVES_WITHOUT_LISTING
  listed[0] = mine != 0; listed[1] = mine != 1; listed[2] = mine != 2;
#endif
  if
  :: atomic { kills < KILLS -> kills++; goto gone }
  :: true
  fi;
  do /* 4: what was listed is removed, object by object */
  :: i < PARTS && listed[i] -> named[i] = false; i++
  :: i < PARTS && !listed[i] -> i++
  :: i == PARTS -> break
  od;
gone:
  skip
}

/* Whoever reads by the manifest finds what it names. */
active proctype Reader() {
end: atomic { begun && !named[success] -> assert(false) }
}
