-- A tracked job keeps its settings only: what it runs is with the backend, and every plan would have read it again.

alter table jobs drop column module;
