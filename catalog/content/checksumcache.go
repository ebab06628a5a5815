package content

import (
	"slices"
	"sync"
	"weak"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/template"
)

// WholeChecksums remembers the checksums of all keys of large configs: to compute one takes as long as the config has keys,
// and many ask for it one after the other, for example about each reader of the config, or at each takeover about each
// restart of the last minutes. It keeps no config that has changed. Several goroutines may use it at once.
type WholeChecksums struct {
	mu sync.Mutex
	of map[names.ConfigRef]wholeChecksum // of at most maxWholeChecksums configs, by their own names
}

// wholeChecksum belongs to the content whose first key is in that place in memory: contents are never modified, and a config
// that counts under another name has the same.
type wholeChecksum struct {
	first    weak.Pointer[names.Checksum]
	keyID    string // of the key of checksums
	checksum names.Checksum
}

const (
	maxWholeChecksums = 1000
	// fewKeys is of how many keys a checksum is not remembered.
	fewKeys = 16
)

// Checksum is [Config.Checksum].
func (w *WholeChecksums) Checksum(config *Config, selections []template.Selection, key ChecksumKey) names.Checksum {
	isWhole := func(s template.Selection) bool { return s.Names == nil && (!s.DataOnly || !config.Keys.HasBinary()) }
	if config.Keys.Len() <= fewKeys || !slices.ContainsFunc(selections, isWhole) {
		return config.Checksum(selections, key)
	}
	whole := wholeChecksum{first: config.Keys.Place()}
	if config.Ref.Kind.IsSecret() {
		whole.keyID = key.ID()
	}
	ref := config.Ref.Source()
	w.mu.Lock()
	known, found := w.of[ref]
	w.mu.Unlock()
	if found && known.first == whole.first && known.keyID == whole.keyID {
		return known.checksum
	}
	whole.checksum = config.ChecksumOf(config.Keys, key) // without the lock, because that takes time
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of == nil || len(w.of) >= maxWholeChecksums {
		w.of = make(map[names.ConfigRef]wholeChecksum)
	}
	w.of[ref] = whole
	return whole.checksum
}
