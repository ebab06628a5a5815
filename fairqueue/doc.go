// Package fairqueue hands out items of work so that none waits for long because of others.
// Both engines use it; it knows neither.
//
// Items belong to namespaces, and within a namespace they wait in lanes. Namespaces take
// turns, within a namespace its lanes do, and a lane is served in the order of arrival. So
// an item that is alone in its lane and namespace waits for at most one item of each other
// namespace, however many these have.
//
// Turns are counted in time: the namespace goes first that has used the workers least while
// it had something to do. One whose items take a second has one turn while another one has a
// hundred for items of 10 milliseconds. An item counts for 10 milliseconds at least, so where
// all take less, turns go round one by one.
//
// An item that has been under way for more than a second is slow. It gives its worker back,
// and another item starts in its place. Its namespace is slow, too, until items of it end in
// time again, two minutes later at the earliest. A slow namespace may have three items under
// way at once; the rest of it waits. All slow namespaces together may have half of the workers
// and 50 slow items beside these. Then nothing new of them starts, while the other half of
// the workers is left to the others. So there are never more items under way than workers
// and these 50.
//
// Further guarantees:
//   - An item is never under way twice at a time. One that is added while it is under way
//     is handed out again afterwards.
//   - An item waits at most once, wherever and however often it is added.
//   - An item that is tried again keeps its lane.
//   - Memory grows only with the number of distinct items that wait, are under way or are
//     to be tried again; no operation looks at all items, lanes or namespaces.
package fairqueue
