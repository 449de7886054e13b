/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A ring in memory that two PDs share (pds/ring.c), for spin.
 *
 * The sender sends SENDS entries in a ring with room for ROOM; the receiver works on each and
 * acknowledges it. KILLS times an end dies between two accesses to the memory. The other end goes
 * on meanwhile. With CLEARED the memory is cleared before the next instance comes, below the other
 * end; both then begin anew.
 *
 * An access is one step. A place is stored at once: an index, and the content that it is of. An
 * entry says which content and which index it is for.
 *
 * spin checks that
 *   - what is worked on was written for this place in this content,
 *   - nothing that was acknowledged is worked on again, and nothing is skipped,
 *   - at the end all is acknowledged.
 *
 * FAULT leaves something out. spin must find an error then. Faults 5 to 8 matter with CLEARED only.
 *   1  the place is stored before the entry is written
 *   2  an entry is acknowledged before the work
 *   3  the next instance of an end begins at 0
 *   4  the sender does not look whether there is room
 *   5  a place of other content counts
 *   6  the receiver does not look again whether the memory was cleared
 *   7  new content gets its number from the epoch alone
 *   8  new content gets its number from the places alone
 */
#ifndef FAULT
#define FAULT 0
#endif
#ifndef CLEARED
#define CLEARED 0
#endif
#ifndef KILLS
#define KILLS 2
#endif
#define SENDS 3
#define ROOM 2

byte epoch = 1;
byte content;
byte sent_of, sent_at;      /* the place of the sender */
byte done_of, done_at;      /* that of the receiver */
byte entry_of[ROOM], entry_at[ROOM];

byte kills;
byte worked;                /* entries of this content that were worked on */
byte acknowledged;          /* entries of this content that were acknowledged */

#define LARGER(a, b) (a > b -> a : b)
#define INDEX(of, at) ((of == mine || FAULT == 5) -> at : 0)
#define MAY_DIE if :: kills < KILLS -> kills++; goto dead :: skip fi

/* Between the death of an end and the first instruction of its next instance. */
inline come_back()
{
    d_step {
        if
        :: CLEARED ->
           content = 0; sent_of = 0; sent_at = 0; done_of = 0; done_at = 0;
           entry_of[0] = 0; entry_at[0] = 0; entry_of[1] = 0; entry_at[1] = 0;
           worked = 0; acknowledged = 0
        :: else
        fi
    };
    epoch++
}

inline open(own_of, own_at, other_of)
{
    now = epoch;
    MAY_DIE;
    d_step { was_of = own_of; was_at = own_at };
    MAY_DIE;
    mine = content;
    if
    :: mine == 0 ->
       begun = other_of;
       begun = 1 + LARGER(begun, was_of);
       if
       :: FAULT == 7 -> begun = now
       :: FAULT == 8
       :: else -> begun = LARGER(begun, now)
       fi;
       MAY_DIE;
       d_step {                                   /* compare and exchange */
           if
           :: content == 0 -> content = begun
           :: else
           fi;
           mine = content
       }
    :: else
    fi;
    index = (FAULT == 3 -> 0 : INDEX(was_of, was_at));
    MAY_DIE;
    d_step { own_of = mine; own_at = index }
}

active proctype sender()
{
    byte mine, index, now, was_of, was_at, begun;

opens:
    open(sent_of, sent_at, done_of);
    do
    :: index < SENDS && content == mine &&
       (FAULT == 4 || index - INDEX(done_of, done_at) < ROOM) ->
       if
       :: FAULT == 1 -> d_step { sent_of = mine; sent_at = index + 1 }
       :: else
       fi;
       MAY_DIE;
       d_step { entry_of[index % ROOM] = mine; entry_at[index % ROOM] = index };
       MAY_DIE;
       d_step { sent_of = mine; sent_at = index + 1 };
       index++
    :: content != mine -> goto opens
    :: kills < KILLS -> kills++; goto dead
    :: index == SENDS && content == mine && acknowledged == SENDS -> break
    od;
end:
    /* The last act may have been the other end's, whose memory is cleared after it. */
    content != mine -> goto opens;
dead:
    come_back();
    goto opens
}

inline acknowledge()
{
    d_step {
        done_of = mine; done_at = index + 1;
        if
        :: content == mine -> acknowledged = index + 1
        :: else
        fi
    }
}

active proctype receiver()
{
    byte mine, index, now, was_of, was_at, begun, got_of, got_at;

opens:
    open(done_of, done_at, sent_of);
    do
    :: index < SENDS && content == mine && index < INDEX(sent_of, sent_at) ->
       MAY_DIE;
       d_step { got_of = entry_of[index % ROOM]; got_at = entry_at[index % ROOM] };
       MAY_DIE;
       if
       :: content != mine && FAULT != 6 -> goto opens
       :: else
       fi;
       if
       :: FAULT == 2 -> acknowledge()
       :: else
       fi;
       MAY_DIE;
       d_step {
           assert(got_of == mine && got_at == index);
           if
           :: content == mine ->
              assert(FAULT == 2 || acknowledged == index);
              assert(worked >= index);
              worked = index + 1
           :: else
           fi
       };
       MAY_DIE;
       if
       :: FAULT != 2 -> acknowledge()
       :: else
       fi;
       index++
    :: content != mine -> goto opens
    :: kills < KILLS -> kills++; goto dead
    :: index == SENDS && content == mine -> break
    od;
    assert(content != mine || worked == SENDS);
end:
    content != mine -> goto opens;
dead:
    come_back();
    goto opens
}
