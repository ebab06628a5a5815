// Package server answers HTTP requests of clients that nobody has authenticated. Headers, answers and scrapes have
// limits. It refuses nobody and keeps a limited number of connections: when another one arrives, the one leaves that
// has made no progress for longest. Connections with complete requests leave last, as long as they are at most half of
// all.
package server
