#pragma once
// What a machine is made of: workers, connections, legs of ways, and slices on them. The hot state
// of a worker is one cache line, that of a connection with four slots another; what many of them
// have in common stands once in tables that stay in the nearest cache.

#include <array>
#include <cstdint>

#include "sim/base/stamp.hpp"
#include "sim/base/units.hpp"
#include "sim/links/link_servers.hpp"
#include "sim/links/program.hpp"

namespace fabricast {

template <class Stamp>
struct ExecutorRecords {
  static constexpr std::uint32_t kNearSlots = 4;
  static constexpr std::uint32_t kCrossbarSlots = 8;
  static constexpr std::uint32_t kNobody = UINT32_MAX;

  /// A slice on its way.
  struct Flight {
    Stamp first;  ///< when its first byte comes to the next link
    Stamp last;   ///< when its last byte can be there at the earliest
    Bytes wire;
    std::uint32_t slot = 0;
    std::uint32_t next = 0;  ///< on the same leg; of those that are free
  };

  /// A slice that has set out, on the links up to the next leg.
  struct Piece {
    Stamp first, last;  ///< as those of a Flight, for the link at `hop`
    Bytes wire;
    std::uint32_t connection = 0;
    std::uint32_t hop = 0, hop_end = 0;
    std::uint32_t next_leg = 0;  ///< kNobody: there is none
    /// It stands for so many. 0: it goes with an equal one, which stands for it, too; `hop` says
    /// which one of the round.
    std::uint32_t copies = 1;
    std::uint8_t slot = 0;
    bool wide = false;
  };
  /// The last one of a round that sets out over certain links, and goes with no other one.
  struct Foremost {
    std::uint32_t round = 0;
    std::uint32_t piece = 0;
  };
  /// A piece while it crosses the links of one step.
  struct CrossingPiece {
    std::uint32_t piece = 0;
    Stamp first, last;
  };
  /// What a relay posts.
  struct Post {
    std::uint32_t relay = 0;
    std::uint32_t connection = 0, slot = 0;  ///< to which it goes
    Stamp start;
    Cost cost;  ///< of the slice
  };
  /// Those who come to one link at one time, where not all come at one time or with as much.
  struct Share {
    std::uint32_t link = 0;
    std::uint32_t later = 0;  ///< share of the same link; kNobody: none
    Stamp head, begin;
    std::int64_t total = 0;  ///< ps
  };
  struct Claim {
    std::uint32_t who = 0;  ///< in crossing_
    std::uint32_t share = 0;
    std::int64_t occupied = 0;  ///< ps, of each
    std::int64_t times = 1;     ///< so many come together
    Bytes wire;
  };

  /// The rest of a path from a link on where ways join: there a slice books links when it arrives,
  /// by an event of its own. What follows one link in another's wake arrives in the order of
  /// departure, so links up to the next joint are booked at once.
  struct Leg {
    std::uint32_t connection = 0;
    std::uint32_t hop = 0, hop_end = 0;  ///< in hops_
    std::uint32_t head = 0, tail = 0;    ///< in flights_, of those that wait
    std::uint16_t waiting = 0;
    bool last = false;  ///< of its path; the next leg has the next number
  };

  /// A slot holds one stamp: while full, since when; while free, since when.
  struct alignas(64) Connection {
    std::array<Stamp, kNearSlots> near_slots{};
    std::uint32_t from = 0, to = 0;
    /// Index in far_slots_ of slot number kNearSlots, and in slot_payload_ of slot 0, when sized.
    std::uint32_t far = 0;
    std::uint32_t first_leg = kNobody;  ///< of its path; kNobody: it has none
    std::uint32_t path = 0;  ///< index in hops_: the number of links, then the links; see kPathHead
    std::uint16_t kind = 0;
    std::uint8_t slots = 0, next_fill = 0, next_drain = 0;
    std::uint8_t in_flight = 0;  ///< slots that the sender may not fill
    std::uint8_t full = 0;       ///< of these, slots that the receiver may drain
    bool sized : 1 = false;      ///< slots remember their payload: a relay reads it
    bool from_relay : 1 = false;
    bool wide : 1 = false;    ///< its path has steps of several links, or links with pieces
    bool shares : 1 = false;  ///< its links
    bool plain : 1 = false;   ///< neither, and nothing else that is rare; see find_plain()
    bool sender_waits = false, receiver_waits = false;  ///< for this connection to change
  };
  /// Stands for the connections from each of some workers to each of some others, where all are
  /// alike and have no links, and every slice goes over all of them: a receiver waits for the last
  /// sender, whoever that is, and a sender for the last receiver. So a slot holds since when it is
  /// full from all senders, and since when free of all receivers; at first, from those so far.
  struct alignas(64) Crossbar {
    std::uint32_t filled = 0;   ///< slices that all senders have sent
    std::uint32_t drained = 0;  ///< and all receivers have taken
    /// Index in crossbar_waiting_: a place for each sender, and behind them for each receiver.
    std::uint32_t waiting = 0;
    std::uint16_t kind = 0;
    std::uint8_t slots = 0, senders = 0, receivers = 0;
    std::uint8_t senders_waiting = 0, receivers_waiting = 0;
    std::array<std::uint8_t, kCrossbarSlots> fills{}, drains{};  ///< of each slot, so far
    std::array<Stamp, kCrossbarSlots> full{}, free{};
  };
  struct alignas(64) ConnectionKind {
    Duration overhead, end_saves, sync, credit, ack;
    std::uint32_t copies = 1;
    bool shares = false;
    Bandwidth line_rate;  ///< at which the receiver takes lines off the wire; 0: slices as a whole
    Bytes first_lines;    ///< on the wire, that take it no time, or that it copies as one pass
    Bytes pass;           ///< of these on the wire, that must be there before it begins
    bool operator==(const ConnectionKind&) const = default;
  };

  struct alignas(64) Worker {
    Stamp free;
    std::uint32_t server = 0;  ///< a relay: its thread; one in step: the link that it sends over
    std::uint32_t left = 0, slice = 0;  ///< bytes of the current chunk
    std::uint32_t chunk = 0;            ///< all of its bytes
    std::uint32_t same = 0;             ///< primitives that are like this one and come next
    std::uint32_t in = 0, out = 0;
    std::uint32_t first_in = 0;
    std::uint32_t first_out = 0;  ///< one output: its connection; more: index in out_connections_
    std::uint16_t slices_left = 0, slices = 0;  ///< of the current chunk, and all of them
    std::uint16_t kind = 0;                     ///< index of its class
    std::uint16_t in_step = 0;  ///< so many of its program send over the link that it does
    std::uint8_t ins = 0, outs = 0;
    std::uint8_t copies = 1;  ///< of a relay, on its thread
    bool relay : 1 = false;
    bool single : 1 = false;  ///< at most one input and one output, and no crossbar
    bool done : 1 = false;
    bool alike : 1 = false;    ///< its outputs are of one kind, and so are its inputs
    bool waits : 1 = false;    ///< for a gate, at the start
    bool pauses : 1 = false;   ///< in step, and has not drifted apart from the others
    bool fills : 1 = false;    ///< its crossbar; else it drains it
    bool plain : 1 = false;    ///< single, and its output is
    bool readies : 1 = false;  ///< WorkerClass::readies
    /// In step, over a link that is booked on arrival: a slice is handled when its first byte is
    /// there, so that it is known when it has left the link, and how long that was idle before.
    bool late : 1 = false;
    bool begun : 1 = false;  ///< late, and its slice is on the way to the link
    std::uint32_t crossbar = kNobody;
  };

  /// How far a worker has come in its program: what is asked for once in many slices.
  struct Course {
    Role role;
    Cursor cursor;  ///< behind the primitives that Worker::same counts
    std::uint16_t program = 0;
    /// So many primitives from now on it is asked how many are alike, and from the next time on
    /// when none were.
    std::uint8_t ask_in = 0, ask_again = 1;
  };

  /// What a worker that cannot start its next slice waits for.
  struct Waits {
    Instant at;                 ///< it can start then, by what is there already
    std::uint32_t missing = 0;  ///< full or free slots that a neighbour has yet to bring about
    std::uint32_t crossed = 0;  ///< slices that have gone over its crossbar; not of the waiting
  };

  struct Thread {
    Stamp free;
    // Scratch of those who share it in the round with this number:
    std::uint32_t round = 0;
    Duration total;  ///< of all their posts
    Duration after;  ///< and of as many that arrived
    Stamp begin;     ///< of these
    Stamp shown;     ///< so far, one after another
  };
};

}  // namespace fabricast
