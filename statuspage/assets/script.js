// Replaces the content of the page when the server reports a change. Without this script, the page reloads
// itself every few seconds.
'use strict';

const live = document.getElementById('live');
let isLoading = false, isOutdated = false;

async function reload() {
  if (isLoading) {
    isOutdated = true;
    return;
  }
  isLoading = true;
  try {
    const answer = await fetch(location.pathname, {cache: 'no-store'});
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    const fresh = page.getElementById('main');
    if (fresh) {
      document.getElementById('main').replaceWith(fresh);
      live.textContent = 'live';
    }
  } catch {
    live.textContent = 'connection lost';
  }
  isLoading = false;
  if (isOutdated) {
    isOutdated = false;
    reload();
  }
}

const events = new EventSource(document.body.dataset.events);
events.addEventListener('change', reload);
events.addEventListener('error', () => {
  live.textContent = events.readyState === EventSource.CLOSED ? 'not live: reload the page' : 'connection lost';
});
