/* Blocks as registers with versions: nodes block and lift one key, and tell each other by a stream
 * in Redis, which loses its end when a replica takes over.
 *
 * Promises: when all is exchanged, all nodes agree; nobody takes back an act that is older than one
 * that it has seen, so a lifted block does not come back from an old copy; and what a living node
 * knows is known to all then. Nodes do not tell each other for ever.
 *
 * Blocks do not end here. Acts and faults are few, and happen in any order.
 * docs/internals/model.md names the function behind each step.
 */
#ifndef NODES
#define NODES 2
#endif
#ifndef ACTS
#define ACTS 3
#endif
#ifndef NEWEST
#define NEWEST 3 /* the last instant at which somebody acts */
#endif
#define ENTRIES 16 /* that the stream holds */

#define max(a, b) ((a) > (b) -> (a) : (b))

/* An act by a hand: when, a block or a lift, and whose; in the order in which they count. One by
 * the rule is only when. */
#define by_hand(when, lifts, whose) ((when) * 8 + (lifts) * 4 + (whose) + 1)
#define when_of(act) ((act) / 8)
#define is_lift(act) (((act) / 4) % 2)
#define RULE 128 /* an entry of the stream that is by the rule */

typedef Node {
  byte hand;      /* the newest act by a hand; 0: none */
  byte rule;      /* the newest block by the rule, if it is newer than that */
  byte seen;      /* the newest act by a hand that it ever knew, for the promise alone */
  bool hand_news; /* that it has not told */
  bool rule_news;
  bool hand_said; /* in the last beat, which nobody has answered */
  bool rule_said;
  byte read;      /* entries of the stream */
  bool is_gone;   /* the last of them: Redis has lost it */
  byte epoch;     /* of what it has read; 0: none */
}
Node node[NODES];
Node file; /* of what node 0 knew some time ago, with which it may start again */

byte stream[ENTRIES];
byte length;
byte epoch;
byte epochs; /* that there ever were */

byte acts;
#ifndef FAULTS
#define FAULTS true /* nodes die, and answers are lost */
#endif
bool crashed = !FAULTS;
bool answer_lost = !FAULTS;
bool is_torn; /* the replica gets nothing any more */
bool has_failed;
byte replica_length;
byte replica_epoch;

/* ---- what a node knows ---- */

#define newest(n) max(when_of(node[n].hand), node[n].rule)
#define is_blocked(n) (node[n].rule > 0 || (node[n].hand > 0 && !is_lift(node[n].hand)))
#ifdef MUTANT_RULE_OUTLIVES_HAND
#define is_over(n, when) false
#else
#define is_over(n, when) ((when) <= when_of(node[n].hand))
#endif

inline put_hand(n, act, told) {
  node[n].hand = act;
  node[n].hand_news = told;
  assert(act >= node[n].seen);
  node[n].seen = act;
  if
  :: is_over(n, node[n].rule) -> node[n].rule = 0; node[n].rule_news = false
  :: else
  fi;
#ifdef MUTANT_LIFT_NOT_REMEMBERED
  node[n].hand = (is_lift(act) && !told -> 0 : act);
#endif
#ifdef MUTANT_LIFT_NOT_TOLD
  node[n].hand_news = told && !is_lift(act);
#endif
}

inline learn(n, entry) {
  if
  :: entry >= RULE ->
     if
     :: entry - RULE > node[n].rule && !is_over(n, entry - RULE) ->
        node[n].rule = entry - RULE;
        node[n].rule_news = false
     :: entry - RULE == node[n].rule -> node[n].rule_news = false
     :: else
     fi
  :: else ->
     if
#ifdef MUTANT_OLD_COPY_WINS
     :: entry != node[n].hand -> put_hand(n, entry, false)
#else
     :: entry > node[n].hand -> put_hand(n, entry, false)
#endif
     :: entry == node[n].hand -> node[n].hand_news = false
     :: else
     fi
  fi
}

/* A clock says any time. An act is newer than all that its node knows. */
inline choose_when(n, when) {
#ifdef MUTANT_CLOCK_TRUSTED
  when = 1;
#else
  when = newest(n) + 1;
#endif
  do
  :: when < NEWEST -> when++
  :: break
  od
}

/* ---- nodes ---- */

/* A beat would change something. */
#define has_news(n) (node[n].hand_news || node[n].rule_news || node[n].hand_said || \
                     node[n].rule_said || node[n].is_gone || node[n].epoch != epoch || \
                     epoch == 0 || node[n].read < length)

inline forget_said(n) {
#ifdef MUTANT_SAID_IS_HEARD
  node[n].hand_said = false;
  node[n].rule_said = false
#else
  skip
#endif
}

inline tell_all(n) {
  node[n].hand_news = node[n].hand > 0;
  node[n].rule_news = node[n].rule > 0
}

inline append(entry) {
  assert(length < ENTRIES);
  stream[length] = entry;
  length++
}

inline beat(n, from) {
  /* It says what nobody has heard. */
  node[n].hand_said = node[n].hand_news || (node[n].hand_said && node[n].hand > 0);
  node[n].rule_said = node[n].rule_news || (node[n].rule_said && node[n].rule > 0);
  node[n].hand_news = false;
  node[n].rule_news = false;
  /* The script: has Redis lost what the node has read? */
#ifndef MUTANT_LOSS_NOT_SEEN
  if
  :: epoch == 0 || node[n].is_gone -> epochs++; epoch = epochs
  :: else
  fi;
#else
  epoch = 1;
#endif
  from = (node[n].epoch == epoch -> node[n].read : 0);
  if
  :: node[n].hand_said -> append(node[n].hand)
  :: else
  fi;
  if
  :: node[n].rule_said -> append(RULE + node[n].rule)
  :: else
  fi
}

inline hear(n, from) {
  node[n].hand_said = false;
  node[n].rule_said = false;
  if
  :: node[n].epoch != epoch ->
#ifndef MUTANT_FAILOVER_IGNORED
     if
     :: node[n].epoch != 0 -> tell_all(n)
     :: else
     fi;
#endif
     node[n].epoch = epoch
  :: else
  fi;
  do
  :: from < length -> learn(n, stream[from]); from++
  :: else -> break
  od;
  node[n].read = length;
  node[n].is_gone = false;
  from = 0
}

inline start(n) {
  node[n].hand_said = false;
  node[n].rule_said = false;
  node[n].read = 0;
  node[n].is_gone = false;
  node[n].epoch = 0;
  node[n].seen = node[n].hand;
  tell_all(n)
}

active [NODES] proctype runs_node() {
  byte me = _pid;
  byte when;
  byte from;
  do
  :: atomic {
       acts < ACTS && newest(me) < NEWEST ->
       acts++;
       choose_when(me, when);
       if
       :: printf("block %d\n", me); put_hand(me, by_hand(when, 0, me), true)
       :: is_blocked(me) -> printf("lift %d\n", me); put_hand(me, by_hand(when, 1, me), true)
       :: !is_blocked(me) ->
          printf("deny %d\n", me);
          node[me].rule = when;
          node[me].rule_news = true
       fi;
       when = 0
     }
  :: atomic {
       has_news(me) ->
       printf("beat %d\n", me);
       beat(me, from);
       if
       :: printf("hear %d\n", me); hear(me, from)
       :: !answer_lost -> printf("lose %d\n", me); answer_lost = true; from = 0; forget_said(me)
       fi
     }
  :: atomic {
       !crashed ->
       crashed = true;
       printf("start %d\n", me);
       if
       :: node[me].hand = 0; node[me].rule = 0
       :: me == 0 -> node[0].hand = file.hand; node[0].rule = file.rule
       fi;
       start(me)
     }
  :: atomic {
       me == 0 && !crashed -> printf("save\n"); file.hand = node[0].hand; file.rule = node[0].rule
     }
  od
}

/* ---- the world ---- */

#if NODES == 2
#define all_is_told (!has_news(0) && !has_news(1))
#else
#define all_is_told (!has_news(0) && !has_news(1) && !has_news(2))
#endif

active proctype world() {
  byte i;
  do
  :: atomic {
       !is_torn -> is_torn = true; replica_length = length; replica_epoch = epoch
     }
  :: atomic {
       is_torn && !has_failed ->
       printf("failover\n");
       has_failed = true;
       for (i : 0 .. NODES - 1) {
         node[i].is_gone = node[i].is_gone || node[i].read > replica_length
       }
       do
       :: length > replica_length -> length--; stream[length] = 0
       :: else -> break
       od;
       epoch = replica_epoch;
       replica_length = 0;
       replica_epoch = 0;
       i = 0
     }
  :: atomic {
       all_is_told ->
       printf("agree\n");
       for (i : 1 .. NODES - 1) {
         assert(node[i].hand == node[0].hand && node[i].rule == node[0].rule);
         assert(node[i].rule == 0 || node[i].rule > when_of(node[i].hand))
       }
       i = 0
     }
  od
}
