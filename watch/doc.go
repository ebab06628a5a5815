// Package watch follows the objects of one resource of the API, in one namespace
// or in all, and hands on what is left of each after its reduction. It knows
// neither what the objects mean nor what is done about them.
//
// A [Watch] reduces each object as it arrives, before anything else sees it, and
// tells an [Observer]. Objects come as a stream where the server can stream
// lists, else page by page, so that never more than a few whole ones are in
// memory. That is why it is no informer: where lists are not streamed, an informer
// piles up the pages before it reduces anything.
//
// What it guarantees:
//
//   - The first list comes first. An event is about an object as it was listed or
//     as it became later; a later list never goes back behind what was told.
//   - Nothing is missed for good. Whatever breaks is tried again until it works;
//     a list then tells what the watch did not see. An object that is gone is
//     missing from that list; there are no tombstones.
//   - An object can be told again unchanged.
//   - One object does not stop the others: if its reduction or the observer panics, it is
//     left alone until it changes, see package quarantine.
//   - No object is logged. The API's reflector logs nothing; the watch itself
//     tells when it breaks and when it works again.
package watch
