/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The locks of the cache (pyhost/cellreap/system/store.py, cache.py, locks.py), for spin.
 *
 * PROCS processes use one of IDS ids of one name and version, remove the others when they have
 * built one, or prune. Each may be killed at any time, after which its locks are free. A lock file
 * that is deleted gets a new inode when it is opened again, so each id has GENS inodes of each
 * lock.
 *
 * spin checks that
 *   - one process builds an id at a time,
 *   - what is used is complete, and stays so,
 *   - nobody waits forever, whoever is killed.
 *
 * FAULT leaves something out of the protocol. spin must find an error then.
 *   1  a builder does not take the build lock
 *   2  who removes does not take the use lock
 *   3  the use lock is taken after the build
 *   4  who removes waits for the use lock, while it uses its own entry
 *   5  a locked file is not looked up again, although it may have been deleted
 *   6  an entry is built in its place, not beside it
 *   7  the use lock is changed from shared to exclusive to build
 */
#ifndef FAULT
#define FAULT 0
#endif
#ifndef PROCS
#define PROCS 3
#endif
#define IDS 2
#define GENS 3

byte gen[IDS];               /* the inode of the lock files that are there */
byte users[IDS * GENS];      /* the use lock: how many share it */
bool alone[IDS * GENS];      /* the use lock: one has it for itself */
bool building[IDS * GENS];   /* the build lock */
bool visible[IDS];           /* the folder is there under its name */
bool whole[IDS];             /* all that belongs into it is there */
byte builders[IDS];          /* who builds it */
byte in_use[IDS];            /* who uses it */

#define AT(id, g) ((id) * GENS + (g))
#define MAY_BE_KILLED if :: goto killed :: skip fi
#define FREE(id, g) (!alone[AT(id, g)] && users[AT(id, g)] == 0)

/* Opens the file of the use lock, waits, and looks whether it is still the one that is there. */
inline share_use()
{
    do
    :: mine = gen[id];
       d_step { !alone[AT(id, mine)] -> users[AT(id, mine)]++; has_use = true };
       MAY_BE_KILLED;
       if
       :: FAULT != 5 && gen[id] != mine -> d_step { users[AT(id, mine)]--; has_use = false }
       :: else -> break
       fi
    od
}

/* Removes `other`. It waits for nobody. */
inline remove()
{
    theirs = gen[other];
    if
    :: FAULT == 2
    :: FAULT == 4 ->
       d_step { FREE(other, theirs) -> alone[AT(other, theirs)] = true; has_alone = true }
    :: else ->
       d_step {
           if
           :: FREE(other, theirs) -> alone[AT(other, theirs)] = true; has_alone = true
           :: else
           fi
       }
    fi;
    if
    :: FAULT == 2 || (has_alone && (gen[other] == theirs || FAULT == 5)) ->
       MAY_BE_KILLED;
       d_step { visible[other] = false; whole[other] = false };
       MAY_BE_KILLED;
       assert(in_use[other] == 0);
       if
       :: gen[other] < GENS - 1 -> gen[other]++      /* the lock files are deleted */
       :: else
       fi
    :: else
    fi;
    d_step {
        if
        :: has_alone -> alone[AT(other, theirs)] = false; has_alone = false
        :: else
        fi
    }
}

inline build()
{
    d_step { builders[id]++; is_builder = true };
    assert(builders[id] == 1);
    MAY_BE_KILLED;
    if
    :: FAULT == 6 -> visible[id] = true; MAY_BE_KILLED; whole[id] = true
    :: else -> d_step { visible[id] = true; whole[id] = true }      /* a rename */
    fi;
    MAY_BE_KILLED;
    d_step { builders[id]--; is_builder = false }
}

active [PROCS] proctype process()
{
    byte id, other, mine, theirs, build_gen;
    bool has_use, has_alone, has_build, is_builder, is_user, built;

    if
    :: id = 0; other = 1
    :: id = 1; other = 0
    fi;
    if
    :: FAULT == 3
    :: else -> share_use()
    fi;
    if
    :: visible[id]
    :: else ->
       build_gen = gen[id];
       if
       :: FAULT == 1
       :: FAULT == 7 ->
          d_step { users[AT(id, mine)] == 1 && !building[AT(id, build_gen)] ->
                   building[AT(id, build_gen)] = true; has_build = true }
       :: else ->
          d_step { !building[AT(id, build_gen)] ->
                   building[AT(id, build_gen)] = true; has_build = true }
       fi;
       if
       :: visible[id]
       :: else -> build(); built = true
       fi;
       d_step {
           if
           :: has_build -> building[AT(id, build_gen)] = false; has_build = false
           :: else
           fi
       }
    fi;
    if
    :: FAULT == 3 -> share_use()
    :: else
    fi;
    MAY_BE_KILLED;
    d_step { in_use[id]++; is_user = true };
    MAY_BE_KILLED;
    assert(visible[id] && whole[id]);
    if
    :: built -> remove()
    :: else
    fi;
    assert(visible[id] && whole[id]);
    d_step { in_use[id]--; is_user = false; users[AT(id, mine)]--; has_use = false };
    if                                           /* cellreap cache prune */
    :: other = id; remove()
    :: other = 1 - id; remove()
    :: skip
    fi

killed:
    skip;
    /* The process has ended. The kernel takes back its locks. */
    d_step {
        if
        :: has_use -> users[AT(id, mine)]--
        :: else
        fi;
        if
        :: has_alone -> alone[AT(other, theirs)] = false
        :: else
        fi;
        if
        :: has_build -> building[AT(id, build_gen)] = false
        :: else
        fi;
        if
        :: is_builder -> builders[id]--
        :: else
        fi;
        if
        :: is_user -> in_use[id]--
        :: else
        fi;
        has_use = false; has_alone = false; has_build = false; is_builder = false; is_user = false
    }
}
