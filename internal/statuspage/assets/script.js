// Replaces the content of the page when the server reports a change. Without this script, the page reloads
// itself every few seconds.
'use strict';

const live = document.getElementById('live');
let isLoading = false, isOutdated = false;

function say(text, isAlarm) {
  live.textContent = text;
  live.classList.toggle('alarm', isAlarm);
}

// Whoever is about to copy a command must not lose the selection.
function isTextSelected() {
  const selection = getSelection();
  return !selection.isCollapsed && document.getElementById('main').contains(selection.anchorNode);
}

function replaceMain(fresh) {
  const focused = document.activeElement.getAttribute('href');
  document.getElementById('main').replaceWith(fresh);
  if (focused) {
    [...document.links].find(link => link.getAttribute('href') === focused)?.focus({preventScroll: true});
  }
}

async function reload() {
  isLoading = true;
  isOutdated = false;
  try {
    const answer = await fetch(location.pathname, {cache: 'no-store'});
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    const fresh = page.getElementById('main');
    if (!fresh) {
      say('not live: the page cannot be loaded', true);
    } else if (isTextSelected()) {
      isOutdated = true;
    } else {
      replaceMain(fresh);
      const isIncomplete = 'incomplete' in fresh.dataset;
      say(isIncomplete ? 'live, but incomplete' : 'live', isIncomplete);
    }
  } catch {
    say('connection lost', true);
  }
  isLoading = false;
  catchUp();
}

function catchUp() {
  if (!isOutdated || isLoading) {
    return;
  }
  if (isTextSelected()) {
    say('paused while text is selected', false);
  } else {
    reload();
  }
}

document.addEventListener('selectionchange', catchUp);

let events;

function openStream() {
  const opened = new EventSource(document.body.dataset.events);
  opened.addEventListener('change', () => {
    isOutdated = true;
    catchUp();
  });
  opened.addEventListener('error', () => {
    say(opened.readyState === EventSource.CLOSED ? 'not live: reload the page' : 'connection lost', true);
  });
  return opened;
}

// A browser has few connections to a server, and each stream takes one. So hidden pages have none, and catch up when
// they are visible again: a stream begins with a change.
function follow() {
  if (document.hidden) {
    events?.close();
    events = undefined;
  } else {
    events ??= openStream();
  }
}

document.addEventListener('visibilitychange', follow);
follow();
