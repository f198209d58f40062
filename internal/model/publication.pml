/*
 * How a run of files gives its release and its report their names, while another run writes the same
 * names, anybody may be killed at any moment, names may be refused, and verify --repair may come in
 * between. make test-model has Spin go through every order.
 *
 * Each line is one call of the system: internal/publish (claim.go, publish.go, complete.go, recover.go).
 * The quarantine, pages and public reports are further files that get their names as the report does.
 *
 * Wrong: NO_LOCK, NO_SECOND_LOOK, REPAIRS_UNREAD, REPORT_FIRST, STATUS_1_AFTER_NAME, KEEPS_NOTHING
 */
#define RUNS 2
#define INODES 9
#define RELEASE 0
#define REPORT 1
#define KILLS 1

byte temp[2];             /* the inode that has the temporary name of the release, of the report; 0: none */
byte named[2];            /* and the final one */
byte writer[INODES];      /* whose content it is: 1 + the run */
bool complete[INODES];
byte lockedBy[INODES];    /* 1 + the process; 0: nobody */
byte inodes = 1;          /* the next new one; 0 is none */
byte kills, over;
bool removed;             /* a complete report of the release that is there was removed */

#define RUNNING 9
#define KILLED 8
byte status[RUNS] = RUNNING;

/* Closing, as the end of a process does, unlocks. */
inline close(i) {
  if
  :: i != 0 && lockedBy[i] == self -> lockedBy[i] = 0
  :: else
  fi
}
inline closeAll() {
  i = 1;
  do
  :: i < INODES -> close(i); i++
  :: else -> i = 0; break
  od
}
#define mayDie :: atomic { kills < KILLS && status[id] == RUNNING -> kills++; closeAll(); status[id] = KILLED; goto out }

/* claim makes the file of a temporary name and locks it, and removes what a dead run has left. */
inline claim(what, mine) {
  mine = 0;
  do
  mayDie
  :: atomic { temp[what] == 0 && inodes < INODES -> mine = inodes; inodes++; temp[what] = mine; writer[mine] = 1 + id };
#ifndef NO_LOCK
     if
     mayDie
     :: atomic { lockedBy[mine] == 0 -> lockedBy[mine] = self }
     :: lockedBy[mine] != 0 -> mine = 0; goto refused
     fi;
#endif
     if
     mayDie
     :: atomic { temp[what] == mine -> break }
#ifdef NO_SECOND_LOOK
     :: break
#else
     :: atomic { temp[what] != mine -> close(mine); mine = 0 }
#endif
     fi
  :: atomic { temp[what] != 0 -> found = temp[what] }; /* removeStale: open */
     if
     mayDie
#ifdef NO_LOCK
     :: true
#else
     :: atomic { lockedBy[found] == 0 -> lockedBy[found] = self }
     :: lockedBy[found] != 0 -> found = 0; goto refused
#endif
     fi;
     if
     mayDie
#ifndef NO_SECOND_LOOK
     :: atomic { temp[what] != found -> close(found) }
     :: temp[what] == found ->
#else
     :: true ->
#endif
        atomic { /* unlink takes away the name, whosever it is by now */
          assert(temp[what] == 0 || lockedBy[temp[what]] == 0 || lockedBy[temp[what]] == self);
          if
          :: what == REPORT && complete[found] && named[RELEASE] != 0 && writer[found] == writer[named[RELEASE]] &&
             (named[REPORT] == 0 || writer[named[REPORT]] != writer[found]) -> removed = true
          :: else
          fi;
          temp[what] = 0; close(found)
        }
     fi;
     found = 0
  :: inodes == INODES -> goto refused
  od
}

inline unlink(what, mine) {
  atomic {
    if
    :: mine != 0 && temp[what] == mine -> temp[what] = 0
    :: else
    fi;
    if
    :: mine != 0 -> close(mine)
    :: else
    fi
  }
}

active [RUNS] proctype Run() {
  byte id = _pid, self = _pid + 1, release, report, found, i, tries;

  claim(RELEASE, release);
  claim(REPORT, report);
  atomic { complete[release] = true; complete[report] = true };
#ifdef REPORT_FIRST
  atomic { named[REPORT] = temp[REPORT]; temp[REPORT] = 0 };
#endif
  if
  mayDie
  :: true /* the gate has passed */
  :: goto refused
  fi;
  if
  mayDie
  :: goto refused /* the name is refused */
  :: atomic {
       temp[RELEASE] == release ->
       assert(complete[temp[RELEASE]]);
       named[RELEASE] = temp[RELEASE]; temp[RELEASE] = 0; close(release)
     }
  fi;
  do
  mayDie
#ifndef REPORT_FIRST
  :: atomic {
       temp[REPORT] == report ->
       named[REPORT] = report; temp[REPORT] = 0; close(report);
       assert(complete[report] && writer[report] == writer[named[RELEASE]]); /* a report is of the release that is there */
       status[id] = 0; goto out
     }
#else
  :: atomic { status[id] = 0; goto out }
#endif
  :: tries < 1 -> tries++
  :: atomic { tries == 1 ->
#ifdef KEEPS_NOTHING
       temp[REPORT] = 0;
#endif
       close(report);
#ifdef STATUS_1_AFTER_NAME
       status[id] = 1;
#else
       status[id] = 5;
#endif
       goto out
     }
  od;

refused: /* a rule is broken, a name is another's, a disk is full */
  unlink(REPORT, report);
  unlink(RELEASE, release);
  atomic { closeAll(); status[id] = 1 };

out:
  atomic {
    assert(status[id] != 1 || named[RELEASE] == 0 || writer[named[RELEASE]] != 1 + id);
    assert(status[id] != 0 || (named[RELEASE] != 0 && named[REPORT] != 0));
    over++
  }
}

/* sdlfilter verify --repair, at any moment, and once more when all is over. */
active proctype Repair() {
  byte self = _pid + 1, found, i;
  bool last;

again:
  last = over == RUNS;
  if
  :: atomic { temp[REPORT] == 0 -> goto done }
  :: atomic { temp[REPORT] != 0 -> found = temp[REPORT] }
  fi;
#ifndef NO_LOCK
  if
  :: atomic { lockedBy[found] == 0 -> lockedBy[found] = self }
  :: lockedBy[found] != 0 -> goto done
  fi;
#endif
  if
  :: atomic { temp[REPORT] != found -> close(found); goto done }
  :: temp[REPORT] == found
  fi;
#ifndef REPAIRS_UNREAD
  if
  :: atomic { !complete[found] || named[RELEASE] == 0 || writer[found] != writer[named[RELEASE]] -> close(found); goto done }
  :: complete[found] && named[RELEASE] != 0 && writer[found] == writer[named[RELEASE]]
  fi;
#endif
  atomic {
    temp[REPORT] != 0 ->
    named[REPORT] = temp[REPORT]; temp[REPORT] = 0; close(found);
    assert(complete[named[REPORT]] && named[RELEASE] != 0 && writer[named[REPORT]] == writer[named[RELEASE]])
  };

done:
  if
  :: !last -> over == RUNS; goto again
  :: last
  fi;
  /* What was published has its report, unless a later run has removed it. */
  assert(named[RELEASE] == 0 || removed || (named[REPORT] != 0 && writer[named[REPORT]] == writer[named[RELEASE]]))
}
