// Package fairqueue hands out items of work so that no item waits for long because of others.
// Both engines use it; it depends on neither.
//
// Items belong to namespaces, and within a namespace to flows (the term of fair queuing, as in
// Kubernetes' API Priority and Fairness). Namespaces take turns, the flows within a namespace
// take turns, and a flow is served in the order of arrival. So an item that is alone in its
// flow and namespace waits for at most one item of each other namespace, however many items
// they have.
//
// Turns are measured in time: the first namespace is the one that has used the workers least
// while it had something to do. A namespace whose items take a second gets one turn while
// another gets a hundred for items of 10 milliseconds. An item counts for at least 10
// milliseconds, so if all items take less, namespaces take turns one by one.
//
// An item that has been under way for more than a second is slow. It gives its worker back,
// and another item starts in its place. Its namespace is slow too, until its items end in time
// again, two minutes later at the earliest. A slow namespace may have three items under way at
// once; its other items wait. All slow namespaces together may use half of the workers, and
// have 50 slow items beside them. Beyond that, none of their items start, and the other half
// of the workers is left to the other namespaces. So the number of items under way never
// exceeds the number of workers plus 50.
//
// Further guarantees:
//   - An item is never under way twice at the same time. An item that is added while it is
//     under way is handed out again afterwards.
//   - An item waits at most once, wherever and however often it is added.
//   - An item that is tried again keeps its flow.
//   - Memory grows only with the number of distinct items that wait, are under way or will be
//     tried again; no operation looks at all items, flows or namespaces.
package fairqueue
