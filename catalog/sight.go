package catalog

// sight is what a workload sees of one config.
type sight struct {
	ref        ConfigRef
	references []Reference // the references to the config
	config     *Config     // nil if the config does not exist
	// seen holds the keys that any of the references selects, and checksum is their checksum. Both
	// are about the keys that the record covers if it was made by another filter.
	seen     []Key
	checksum Checksum
	// narrowing is what the filters of the workload say about edits, nil for nearly all configs.
	narrowing *narrowing
}

// sights returns what the workload sees of each config that it references, sorted. Ignored configs
// are left out, and so are those of which each pod has its own content.
func (v *View) sights() []sight {
	sights := make([]sight, 0, len(v.Configs))
	for references := range runs(v.Workload.References, ofOneConfig) {
		s := sight{ref: references[0].Config, references: references}
		if s.config = v.present(s.ref); s.ref.Kind.IsPerPod() || v.Workload.Ignores(s.config) {
			continue
		}
		s.narrowing = v.Workload.narrowing(references, s.config)
		if s.config != nil {
			s.seen = s.config.seen(selections(references))
			s.checksum = s.config.checksumOf(s.seen, v.Key)
		}
		if s.config != nil && s.narrowing != nil {
			s.narrowing.compare(v, &s)
		}
		sights = append(sights, s)
	}
	return sights
}

// present returns the checksum to record of a config that exists.
func (s *sight) present() Checksum {
	if s.narrowing != nil {
		return s.narrowing.present
	}
	return s.checksum
}

// selections returns what the references to a config select, as one selection for each
// channel.
func selections(references []Reference) []Selection {
	var all []Selection
	for ofChannel := range runs(references, func(a, b *Reference) bool { return a.Channel == b.Channel }) {
		all = append(all, union(ofChannel))
	}
	return all
}

// isRecordedOtherwise reports whether the record is trusted and has another checksum of
// the config.
func (v *View) isRecordedOtherwise(s *sight) bool {
	recorded, found := v.Workload.Applied.Checksums[s.ref]
	return s.config != nil && found && v.Workload.Applied.Trusted && recorded != s.checksum
}
