/*
 * How a run of files gives its release and its report their names, while another run writes the same
 * names, anybody may be killed at any moment, names may be refused, and verify --repair may come in
 * between. make test-model has Spin go through every order.
 *
 * Each line is one call of the system: internal/publish (claim.go, publish.go, complete.go, recover.go).
 * The quarantine, pages and public reports are further files that get their names as the report does.
 *
 * Wrong: NO_LOCK, NO_SECOND_LOOK, REPAIRS_UNREAD, REPORT_FIRST, STATUS_1_AFTER_NAME, KEEPS_NOTHING,
 *        LOSES_REPORTS, PASSES_BY
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
          temp[what] = 0; close(found)
        }
     fi;
     found = 0
  :: inodes == INODES -> goto refused
  od
}

/* repair gives a report that is complete, and of the release that is there, its name. who can die, if it is a run. */
inline repair(who) {
  found = 0;
  if
  :: atomic { temp[REPORT] == 0 }
  :: atomic { temp[REPORT] != 0 -> found = temp[REPORT] }
  fi;
#ifndef NO_LOCK
  if
  :: found == 0
  :: atomic { found != 0 && lockedBy[found] == 0 -> lockedBy[found] = self }
#ifdef PASSES_BY
  :: atomic { found != 0 && lockedBy[found] != 0 -> found = 0 }
#else
  :: atomic { found != 0 && lockedBy[found] != 0 && who == RUNS -> found = 0 }
  :: atomic { found != 0 && lockedBy[found] != 0 && who < RUNS -> found = 0; goto refused } /* its run may die yet */
#endif
  fi;
#endif
  if
  :: atomic { found != 0 && temp[REPORT] != found -> close(found); found = 0 }
  :: found == 0 || temp[REPORT] == found
  fi;
#ifndef REPAIRS_UNREAD
  if
  :: atomic { found != 0 && (!complete[found] || named[RELEASE] == 0 || writer[found] != writer[named[RELEASE]]) -> close(found); found = 0 }
  :: found == 0 || (complete[found] && named[RELEASE] != 0 && writer[found] == writer[named[RELEASE]])
  fi;
#endif
  if
  :: atomic { found != 0 && who < RUNS && kills < KILLS -> kills++; close(found); closeAll(); status[id] = KILLED; goto out }
  :: atomic {
       found != 0 && temp[REPORT] != 0 ->
       named[REPORT] = temp[REPORT]; temp[REPORT] = 0; close(found); found = 0;
       assert(complete[named[REPORT]] && named[RELEASE] != 0 && writer[named[REPORT]] == writer[named[RELEASE]])
     }
  :: found == 0
  fi
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
#ifndef LOSES_REPORTS
  repair(id); /* what a killed run has left, while nobody else can publish */
#endif
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
  byte id, self = _pid + 1, found, i;
  bool last;

  do
  :: last = over == RUNS;
     repair(RUNS);
     if
     :: !last -> over == RUNS
     :: last -> break
     fi
  od;
refused:
out:
  /* What was published has its report. */
  assert(named[RELEASE] == 0 || (named[REPORT] != 0 && writer[named[REPORT]] == writer[named[RELEASE]]))
}
