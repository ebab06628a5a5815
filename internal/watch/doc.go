// Package watch follows the objects of one API resource, in one namespace or in all, and passes on the reduced form of
// each.
//
// A [Watch] reduces each object as it arrives. Lists are streamed, or read page by page, so there are never more than
// a few whole objects in memory. An informer would collect a list first.
//
//   - The first list comes first. An event shows an object as it was listed or later, and a later list never goes back
//     behind what the observer has.
//   - Nothing is missed for good: whatever breaks is tried again, and a list shows what was missed. There are no
//     tombstones. An unchanged object may come again.
//   - A stream that has shown nothing for two minutes is given up, and everything is listed: a proxy can lose one
//     stream and still answer pings. A watch also lists if it could not be opened for five seconds. It does not go on
//     at its position, which may lie in the future after a restore of etcd.
//   - One object does not stop the others; see package quarantine.
//   - No object is logged. The store's methods return no error, which the reflector would log together with the
//     object.
package watch
