package catalog

import (
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
)

// Catalog knows every config and every workload that opted in, and which workload references which config. Its methods take
// in what watches, lists and answers of the API server show; those of its [Lookup] answer questions. Its memory grows with
// the number of keys of the configs, not with the size of their values.
//
// The zero value is not usable; see [New]. All methods may be called by several goroutines at once.
type Catalog struct{ Lookup }

// New returns an empty catalog for configs of these kinds, or of all kinds if no kind is given.
// It ignores references to configs of other kinds.
func New(kinds ...names.ConfigKind) *Catalog {
	return &Catalog{Lookup{store: newStore(kinds)}}
}

// step takes in one thing, at a moment of its own, and returns what that reports.
func (c *Catalog) step(take func() bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moment++
	return take()
}

// SetKey sets the key of the checksums of Secrets.
func (c *Catalog) SetKey(key content.ChecksumKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.key = key
}
