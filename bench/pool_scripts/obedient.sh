#!/bin/sh
# A script with a child; both die of TERM.
if [ "$1" = describe ]; then
  echo '{"slug": "obedient", "description": "Sleep for five minutes.", "args": []}'
  exit
fi
sleep 300 &
echo ready
wait
