// Package watch follows the objects of one API resource, in one namespace or in
// all of them, and passes on the reduced form of each. It does not know what the
// objects mean or what happens to them.
//
// A [Watch] reduces each object as it arrives, before anything else sees it, and
// passes it to an [Observer]. Objects arrive as a stream if the server can stream
// lists, and otherwise page by page, so that there are never more than a few whole
// objects in memory. That is why it is not an informer: if lists are not streamed,
// an informer collects all pages before it reduces anything.
//
// What it guarantees:
//
//   - The first list comes first. An event shows an object as it was listed or in
//     a later state; a later list never goes back behind what the observer has
//     already received.
//   - Nothing is missed for good. Whatever breaks is tried again until it works; a
//     list then shows what the watch did not see. An object that is gone is
//     missing from that list; there are no tombstones.
//   - The observer may receive an unchanged object again.
//   - One object does not stop the others: if its reduction or the observer
//     panics, it is left alone until it changes; see package quarantine.
//   - No object is logged. The API's reflector logs nothing; the watch itself logs
//     when it breaks and when it works again.
package watch
