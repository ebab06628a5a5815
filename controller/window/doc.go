// Package window computes recurring windows of time, such as CRON_TZ=Europe/Berlin 0 22 * * 1-5 6h: whether one is
// open, and when it opens next. It is pure, and reads only the time zone database.
//
// A window has a schedule, a time zone and a length. The schedule is compared with what a clock in the time zone
// shows. A window opens at the first time at which the clock shows a scheduled time or a later one: once, where the
// clock is set back, and right after the change, where it is set forward past that time. The length is elapsed time.
//
// Tenants write the texts. The slowest schedules take a few microseconds.
package window
