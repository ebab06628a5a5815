package annotation

// RestartAtManager is the field manager of .spec.restartAt. With [FieldManager] itself, the API server would date the
// record anew, and with it the restart.
const RestartAtManager = FieldManager + "-restart-at"
