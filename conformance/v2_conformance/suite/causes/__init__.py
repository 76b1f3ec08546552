"""Why a case has its outcome, and the words for it."""
