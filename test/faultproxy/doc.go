// Package faultproxy stands between a controller and a real API server and does to
// their conversation what networks and overloaded servers do. It terminates TLS
// with a certificate of its own and speaks HTTP/2 on both sides, as the parties
// would with each other; bearer tokens pass through.
//
// What goes wrong is a [Mix]: how probable each [Kind] of fault is. It can be
// changed at any time ([Proxy.Inject]), so a window of faults is a mix that is
// taken back. Answers that the proxy makes up look like the API server's. Faults
// are drawn from a seeded source; since requests arrive in no fixed order, a seed
// repeats the dice, not the whole play.
//
// Only faults that a correct server and network can produce are among them. A
// create is never answered with AlreadyExists, for example: that would be a lie
// which no client can see through.
package faultproxy
