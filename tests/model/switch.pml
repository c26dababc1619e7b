/* The switch of an adaptive key among a sliding window, a bucket and backoff, while nodes hold
 * units that they leased before it.
 *
 * Promises: a switch neither gives units nor takes any, but what a bucket owes for leases that are
 * out; and through any switches nobody admits more than a bucket of the same limit, and a
 * unit for each switch of a bucket into counts, which round.
 *
 * Any charge may bring any switch, so nodes that lag behind and nodes that disagree are among all
 * that happens here. Times are ticks that are left, as in leases.pml. docs/internals/model.md names
 * the function behind each step.
 */
#ifndef NODES
#define NODES 2
#endif
#ifndef LIMIT
#define LIMIT 4
#endif
#ifndef PRICE
#define PRICE 3 /* ticks in which a unit comes back */
#endif
#define WINDOW (LIMIT * PRICE)
#ifndef SHORT
#define SHORT 3 /* ticks of a short lease */
#endif
#ifndef SWITCHES
#define SWITCHES 2 /* of a bucket into counts */
#endif

#define max(a, b) ((a) > (b) -> (a) : (b))
#define min(a, b) ((a) < (b) -> (a) : (b))
#define less(a, b) ((a) > (b) -> (a) - (b) : 0)
#define ceil(a, b) (((a) + (b) - 1) / (b))

mtype = { window, bucket, backoff }

mtype active_one = window;
byte passed;      /* ticks of the window */
byte previous;    /* counts: units in the window before, and in this one */
byte current;
bool is_halved;   /* in backoff: a penalty halves the limit */
byte lease_end;   /* ticks until the latest lease of counts ends */
byte debt;        /* of the bucket, in ticks */

typedef Node {
  byte units;     /* that it holds, for so many ticks */
  byte end;
}
Node node[NODES];

byte rounded;     /* how often a bucket became counts */
byte spent;       /* the debt of a bucket that had seen each unit at its time */

#define fading(units) ceil((units) * (WINDOW - passed), WINDOW)
#define counted (current + fading(previous))
#define limit_now (is_halved -> LIMIT / 2 : LIMIT)
#define left (active_one == bucket -> less(WINDOW, debt) / PRICE : less(limit_now, counted))

inline admit() {
  spent = spent + PRICE;
  assert(spent <= WINDOW + PRICE * max(1, rounded))
}

inline charge(amount, late) {
  if
  :: active_one == bucket -> debt = max(debt, late) + amount * PRICE
  :: else -> current = current + amount
  fi
}

/* ---- the switch ---- */

/* Two counts that hold so many units: as many as may fade at once, and the rest in this window. */
inline become_counts(units, kept) {
  previous = ((units) - kept) * WINDOW / (WINDOW - passed);
#ifndef MUTANT_ALL_MAY_FADE
  previous = min(LIMIT, previous);
#endif
  current = (units) - fading(previous)
}

inline follow(to) {
  before = left;
  owed = 0;
  if
  :: active_one == bucket ->
     assert(debt <= WINDOW + PRICE);
     not_left = ceil(debt, PRICE);
     debt = 0;
     rounded++;
     become_counts(not_left, 0)
  :: active_one != bucket && to == bucket ->
     not_left = max(counted, LIMIT - before);
#ifndef MUTANT_LEASE_NOT_OWED
     owed = lease_end;
#endif
#ifdef MUTANT_SPENT_IS_FORGOTTEN
     not_left = 0;
#endif
     debt = not_left * PRICE + owed;
     previous = 0;
     current = 0;
     lease_end = 0
  :: active_one == backoff && to == window ->
#ifndef MUTANT_PENALTY_FORGIVEN
     not_left = max(counted, LIMIT - before);
     if
     :: not_left > counted -> become_counts(not_left, current)
     :: else
     fi
#endif
  :: active_one == window && to == backoff
  fi;
  active_one = to;
  is_halved = false;
  assert(left <= before);
  assert(left + ceil(owed, PRICE) >= before && owed <= SHORT);
  before = 0;
  not_left = 0;
  owed = 0
}

#define may_switch (active_one != bucket || rounded < SWITCHES)
/* Counts of which a long lease is out wait with that. */
#ifdef MUTANT_LONG_LEASE_SWITCHES
#define may_follow(to) (active_one != (to) && may_switch)
#else
#define may_follow(to) (active_one != (to) && may_switch && ((to) != bucket || lease_end <= SHORT))
#endif

/* ---- time ---- */

inline tick() {
  passed++;
  if
  :: passed == WINDOW ->
     passed = 0;
     previous = current;
     current = 0
  :: else
  fi;
  debt = less(debt, 1);
  spent = less(spent, 1);
  lease_end = less(lease_end, 1);
  for (i : 0 .. NODES - 1) {
    node[i].end = less(node[i].end, 1);
    node[i].units = (node[i].end == 0 -> 0 : node[i].units)
  }
  i = 0
}

active proctype redis() {
  byte i;
  byte before;
  byte not_left;
  byte owed;
  do
  :: atomic { may_follow(window) -> printf("window\n"); follow(window) }
  :: atomic { may_follow(bucket) -> printf("bucket\n"); follow(bucket) }
  :: atomic { may_follow(backoff) -> printf("backoff\n"); follow(backoff) }
  :: atomic { left > 0 -> printf("strict\n"); charge(1, 0); admit() }
  :: atomic {
       active_one == backoff && left == 0 && !is_halved -> printf("penalty\n"); is_halved = true
     }
  :: atomic { is_halved && passed == 0 -> printf("quiet\n"); is_halved = false }
  :: atomic { printf("tick\n"); tick() }
  od
}

active [NODES] proctype runs_node() {
  byte me = _pid - 1;
  byte units;
  byte ticks;
  do
  :: atomic {
       node[me].units == 0 && left > 0 && active_one != backoff ->
       if
       :: units = 1
       :: left >= 2 -> units = 2
       fi;
       if
       :: ticks = SHORT
#ifndef MUTANT_BUCKET_LEASES_LONG
       :: active_one == window -> ticks = WINDOW
#else
       :: ticks = WINDOW
#endif
       fi;
       printf("lease %d %d %d\n", me, units, ticks);
       charge(units, SHORT);
       if
       :: active_one == window ->
          ticks = min(ticks, WINDOW - passed);
          lease_end = max(lease_end, ticks)
       :: else
       fi;
       node[me].units = units;
       node[me].end = ticks;
       units = 0;
       ticks = 0
     }
  :: atomic {
       node[me].units > 0 ->
       printf("spend %d\n", me);
       node[me].units--;
       node[me].end = (node[me].units > 0 -> node[me].end : 0);
       admit()
     }
#ifdef SHORT_LEASES_RETURN
  :: atomic {
       node[me].units > 0 && active_one != bucket ->
       printf("return %d\n", me);
       if
       :: active_one == bucket -> debt = less(debt, node[me].units * PRICE)
       :: else -> current = less(current, node[me].units)
       fi;
       node[me].units = 0;
       node[me].end = 0
     }
#endif
  od
}
