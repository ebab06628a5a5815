package names

// MaxNamed is the highest number of configs, keys and writers that a decision names. Decisions
// appear in logs and Events, and stay in memory while a restart is put off or unanswered;
// nothing limits the number of a config's keys and writers.
const MaxNamed = 10

// UnknownNumber stands for the number of others where it is not known whether there are any.
const UnknownNumber = -1
