/* Mode leased: nodes lease units of one key from Redis, spend them, and give them back.
 *
 * Promise: nobody admits more than the limit, and what Redis had confirmed and then lost.
 *
 * Redis is one of two: a count of the units in a window, or (-DBUCKET) a bucket that gains a unit
 * a tick and remembers what long leases hold. Each time here is how many ticks are left, so a world
 * has no end, and few states.
 *
 * More may happen here than in the code: calls of a node overtake each other, and an answer may be
 * late or lost at any time. docs/internals/model.md names the function behind each step. Each
 * MUTANT_... breaks the protocol, and model_test.py wants spin to find that.
 */
#ifndef NODES
#define NODES 2
#endif
#ifndef LIMIT
#define LIMIT 2
#endif
#ifndef WINDOW
#define WINDOW 2 /* ticks of the window, or of an epoch of the bucket: a long lease lasts as many */
#endif
#ifndef SHORT
#define SHORT 1  /* ticks of a short lease */
#endif
#ifndef PRICE
#define PRICE 3  /* ticks in which the bucket gains a unit */
#endif
#ifndef HOLD
#define HOLD 2   /* units of the bucket that long leases hold at most */
#endif
#ifndef ASKS
#define ASKS 2   /* a node that holds fewer units asks for a lease */
#endif
#ifndef CALM
#define CALM false /* no node dies or gives up */
#endif
#define BEHIND 1 /* ticks by which the nodes' clocks are behind Redis's */

#define max(a, b) ((a) > (b) -> (a) : (b))
#define min(a, b) ((a) < (b) -> (a) : (b))
#define less(a, b) ((a) > (b) -> (a) - (b) : 0)

#define held_by_two (node[0].units + node[NODES - 1].units) /* of two nodes; for traces */

mtype = { idle, asked, answered }  /* a call */
mtype = { whole, torn, over }      /* the replica: it has all, lacks what is new, has taken over */

typedef Node {
  byte units;        /* that it holds, */
  byte here;         /* for so many ticks by its own clock, */
  byte there;        /* and for so many by Redis's */
  mtype call = idle; /* for a lease */
  byte age;          /* ticks since it was asked */
  byte granted;      /* units; with the ticks that are left of them */
  byte granted_here;
  byte granted_there;
  byte back;         /* units on their way back, */
  byte back_there;   /* which count for so many ticks */
#ifdef BUCKET
  bool is_long;
  byte told;         /* units of a long lease that Redis takes for unspent */
  bool granted_long;
  byte settled;      /* goes with the call: units spent of long leases, */
  byte settled_there;
  byte back_settled; /* or with those on their way back */
#endif
}
Node node[NODES];

/* What Redis stores. */
typedef Stored {
#ifdef BUCKET
  byte debt;
  byte epoch; /* ticks until it ends */
  byte newer; /* units held since it began, */
  byte older; /* and since the one before */
#else
  byte count;
#endif
}
Stored redis;
Stored replica;
mtype copies = whole;
byte unsaved; /* units that Redis has confirmed and the replica does not know */

/* What the promise is about: units admitted in this window; of a bucket the debt of one that had
 * seen each of them at its time. */
byte spent;
byte lost;
#ifndef BUCKET
byte window_left = WINDOW;
#endif

#ifdef BUCKET
#define COST PRICE
#else
#define COST 1
#endif
inline admit() {
  spent = spent + COST;
  assert(spent <= (LIMIT + lost) * COST)
}

/* ---- what the script does ---- */

#ifdef BUCKET
#define held(s) (s.newer + s.older)
#define owed(s) max(s.debt, held(s) * PRICE)
#define room_to_hold less(HOLD, held(redis))
/* A short lease may be spent until it ends, and what is held may be, too. */
#ifdef MUTANT_LEASE_CHARGED_AS_OF_NOW
#define LATE 0
#else
#ifdef MUTANT_LEASE_FORGETS_HELD
#define LATE SHORT
#else
#define LATE (SHORT + held(redis) * PRICE)
#endif
#endif
#define left (less(LIMIT * PRICE, owed(redis)) / PRICE)
#else
#define left less(LIMIT, redis.count)
#endif

/* No more than the limit can be lost at once. */
inline confirm(amount) {
  unsaved = (copies == torn -> min(unsaved + amount, LIMIT) : 0)
}

inline charge(amount) {
#ifdef BUCKET
  redis.debt = owed(redis) + amount * PRICE;
#else
  redis.count = redis.count + amount;
#endif
  confirm(amount)
}

/* Grants some units, and says for how long. */
inline lease(given, lasts, longer) {
  if
  :: given = 0
  :: left >= 1 -> given = 1
  :: left >= 2 -> given = 2
  fi;
  lasts = (longer -> WINDOW : SHORT);
#ifdef BUCKET
  given = (longer -> min(given, room_to_hold) : given);
  if
  :: given == 0
  :: given > 0 && longer ->
     redis.debt = owed(redis) + given * PRICE;
     redis.epoch = (held(redis) == 0 -> WINDOW : redis.epoch);
     redis.newer = redis.newer + given
  :: given > 0 && !longer ->
     redis.debt = max(owed(redis), LATE) + given * PRICE
  fi;
#else
#ifndef MUTANT_LEASE_OUTLIVES_WINDOW
  lasts = min(lasts, window_left);
#endif
  redis.count = redis.count + given;
#endif
  confirm(given)
}

#ifdef BUCKET
inline settle(amount, until) {
  if
  :: amount > 0 && until > 0 && held(redis) > 0 ->
#ifndef MUTANT_SETTLED_IS_NOT_OWED
     redis.debt = owed(redis);
#endif
     redis.newer = less(redis.newer, less(amount, redis.older));
     redis.older = less(redis.older, amount);
     redis.epoch = (held(redis) == 0 -> 0 : redis.epoch)
  :: else
  fi
}
#endif

inline undo(amount, until) {
  if
#ifdef MUTANT_RETURN_COUNTS_FOR_EVER
  :: true ->
#else
  :: until > 0 ->
#endif
#ifdef BUCKET
     redis.debt = less(owed(redis), amount * PRICE)
#else
     redis.count = less(redis.count, amount)
#endif
  :: else
  fi
}

/* ---- nodes ---- */

inline forget_units(n) {
  node[n].units = 0;
  node[n].here = 0;
  node[n].there = 0;
#ifdef BUCKET
  node[n].told = 0;
  node[n].is_long = false;
#endif
}

inline forget_call(n) {
  node[n].call = idle;
  node[n].age = 0;
  node[n].granted = 0;
  node[n].granted_here = 0;
  node[n].granted_there = 0;
#ifdef BUCKET
  node[n].granted_long = false;
  node[n].settled = 0;
  node[n].settled_there = 0;
#endif
}

inline forget_return(n) {
  node[n].back = 0;
  node[n].back_there = 0;
#ifdef BUCKET
  node[n].back_settled = 0;
#endif
}

/* What was spent of a long lease is told with the next call. */
inline ask(n) {
  node[n].call = asked;
#ifdef BUCKET
  if
  :: node[n].is_long ->
     node[n].settled = node[n].told - node[n].units;
     node[n].settled_there = (node[n].settled > 0 -> node[n].there : 0);
     node[n].told = node[n].units
  :: else
  fi;
  forget_spent(n)
#endif
}

#if defined(BUCKET) && !defined(SHORT_LEASES_RETURN)
#define may_return(n) (node[n].is_long)
#else
#define may_return(n) true
#endif

#ifdef BUCKET
/* Of a lease that is used up, and told. */
inline forget_spent(n) {
  if
  :: node[n].units == 0 && node[n].told == 0 -> forget_units(n)
  :: else
  fi
}
#endif

/* Units that come while others are held become one lease with them. */
inline receive(n) {
  if
  :: node[n].units == 0 ->
     node[n].here = node[n].granted_here;
     node[n].there = node[n].granted_there;
#ifdef BUCKET
     node[n].is_long = node[n].granted_long
#endif
  :: else ->
     node[n].here = min(node[n].here, node[n].granted_here);
     node[n].there = min(node[n].there, node[n].granted_there);
#ifdef BUCKET
     node[n].is_long = node[n].is_long && node[n].granted_long
#endif
  fi;
  node[n].units = node[n].units + node[n].granted;
#ifdef BUCKET
  node[n].told = (node[n].is_long -> node[n].units : 0);
#endif
  if
  :: node[n].here == 0 -> forget_units(n)
  :: else
  fi
}

active [NODES] proctype runs_node() {
  byte me = _pid;
  do
  :: atomic {
       node[me].call == idle && node[me].units < ASKS ->
       printf("ask %d\n", me);
       ask(me)
     }
  :: atomic {
       node[me].call == answered ->
       if
       :: node[me].granted > 0 -> receive(me)
       :: else
       fi;
       printf("answer %d %d held %d\n", me, node[me].granted, held_by_two);
#ifdef MUTANT_ANSWER_TAKEN_TWICE
       if
       :: true
       :: forget_call(me)
       fi
#else
       forget_call(me)
#endif
     }
  /* It waits no longer. */
  :: atomic {
       node[me].call != idle && !CALM ->
       printf("give_up %d\n", me);
       forget_call(me)
     }
  :: atomic {
       (node[me].call != idle || node[me].units > 0) && !CALM ->
       printf("crash %d\n", me);
       forget_units(me);
       forget_call(me)
     }
  :: atomic {
       node[me].units > 0 ->
       node[me].units--;
       printf("spend %d held %d\n", me, held_by_two);
#ifdef BUCKET
       if
       :: node[me].units == 0 && !node[me].is_long -> forget_units(me)
       :: else
       fi;
#else
       if
       :: node[me].units == 0 -> forget_units(me)
       :: else
       fi;
#endif
       admit()
     }
  :: atomic {
       node[me].units > 0 && node[me].back == 0 && may_return(me) ->
       printf("return %d %d\n", me, node[me].units);
       node[me].back = node[me].units;
       node[me].back_there = node[me].there;
#ifdef BUCKET
       node[me].back_settled = node[me].told;
#endif
#ifndef MUTANT_RETURNED_AND_KEPT
       forget_units(me)
#endif
     }
  od
}

/* ---- Redis, one call after the other ---- */

active [NODES] proctype runs_calls() {
  byte n = _pid - NODES;
  byte units;
  byte ticks;
  bool longer;
  do
  :: atomic {
       node[n].call == asked ->
#ifdef BUCKET
       settle(node[n].settled, node[n].settled_there);
       node[n].settled = 0;
       node[n].settled_there = 0;
#endif
       if
       :: longer = true
       :: longer = false
       fi;
       lease(units, ticks, longer);
       printf("lease %d %d %d left %d\n", n, units, ticks, left);
       node[n].call = answered;
       node[n].granted = units;
       if
       :: units > 0 ->
          node[n].granted_there = ticks;
#ifdef MUTANT_CLOCKS_TRUSTED
          node[n].granted_here = ticks + BEHIND;
#else
          node[n].granted_here = less(ticks, node[n].age);
#endif
#ifdef MUTANT_LEASE_BEGINS_WITH_ANSWER
          node[n].granted_here = ticks;
#endif
#ifdef BUCKET
          node[n].granted_long = longer
#endif
       :: else
       fi;
       node[n].age = 0;
       units = 0;
       ticks = 0;
       longer = false
     }
  :: atomic {
       node[n].back > 0 ->
#ifdef BUCKET
       settle(node[n].back_settled, node[n].back_there);
#endif
       undo(node[n].back, node[n].back_there);
       printf("back %d %d left %d\n", n, node[n].back, left);
#ifdef MUTANT_RETURN_SENT_AGAIN
       if
       :: true
       :: forget_return(n)
       fi
#else
       forget_return(n)
#endif
     }
  /* The connection is cut before Redis has read it. */
  :: atomic {
       node[n].back > 0 ->
       printf("cut %d\n", n);
       forget_return(n)
     }
  od
}

/* ---- the world ---- */

inline copy(to, from) {
#ifdef BUCKET
  to.debt = from.debt;
  to.epoch = from.epoch;
  to.newer = from.newer;
  to.older = from.older
#else
  to.count = from.count
#endif
}

inline clear(s) {
#ifdef BUCKET
  s.debt = 0;
  s.epoch = 0;
  s.newer = 0;
  s.older = 0
#else
  s.count = 0
#endif
}

#ifdef BUCKET
/* What was held in the epoch before may have been spent until now. Nobody holds it any more. */
inline pass(s) {
  s.debt = less(s.debt, 1);
  if
  :: held(s) > 0 && s.epoch == 1 ->
#ifndef MUTANT_HELD_IS_NOT_OWED
     s.debt = owed(s);
#endif
     s.older = s.newer;
     s.newer = 0;
     s.epoch = (s.older > 0 -> WINDOW : 0)
  :: else -> s.epoch = less(s.epoch, 1)
  fi
}
#endif

inline tick() {
#ifdef BUCKET
  pass(redis);
  pass(replica);
  spent = less(spent, 1);
#else
  window_left--;
  if
  :: window_left == 0 ->
     window_left = WINDOW;
     clear(redis);
     clear(replica);
     copies = whole;
     unsaved = 0;
     spent = 0;
     lost = 0
  :: else
  fi;
#endif
  for (i : 0 .. NODES - 1) {
    node[i].here = less(node[i].here, 1);
    node[i].there = less(node[i].there, 1);
    node[i].granted_there = less(node[i].granted_there, 1);
#ifndef MUTANT_LEASE_BEGINS_WITH_ANSWER
    node[i].granted_here = less(node[i].granted_here, 1);
#endif
    node[i].back_there = less(node[i].back_there, 1);
    node[i].age = (node[i].call == asked -> min(node[i].age + 1, WINDOW) : 0);
#ifdef BUCKET
    node[i].settled_there = less(node[i].settled_there, 1);
#endif
    if
    :: node[i].here == 0 -> forget_units(i)
    :: else
    fi
  }
  i = 0
}

active proctype world() {
  byte i;
  do
  /* Redis decides a check of anybody. */
  :: atomic {
       left > 0 ->
       charge(1);
       printf("strict left %d\n", left);
       admit()
     }
  /* It decides one, or grants a unit, to somebody who waits no longer. */
  :: atomic {
       left > 0 ->
       charge(1);
       printf("late left %d\n", left)
     }
  :: atomic {
       copies == whole ->
       printf("tear\n");
       copies = torn;
       copy(replica, redis)
     }
  /* The replica takes over. It does not know the script: a call that finds none has charged
   * nothing, and comes again with the text, which is no step of its own here. */
  :: atomic {
       copies == torn ->
#ifndef MUTANT_FAILOVER_IGNORED
       lost = lost + unsaved;
#endif
       copies = over;
       unsaved = 0;
       copy(redis, replica);
       clear(replica);
       printf("failover left %d\n", left)
     }
  :: atomic {
       tick();
       printf("tick left %d held %d\n", left, held_by_two)
     }
  od
}
