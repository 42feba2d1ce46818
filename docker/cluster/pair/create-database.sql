-- The database of the gateways. Their role may do nothing else in this server, and creates its own schema in it.
\getenv password SEGANET_DATABASE_PASSWORD
CREATE ROLE seganet LOGIN PASSWORD :'password';
CREATE DATABASE seganet;
REVOKE ALL ON DATABASE seganet, postgres, template1 FROM PUBLIC;
GRANT CONNECT, CREATE ON DATABASE seganet TO seganet;
